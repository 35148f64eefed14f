/**
 * The files in what was chosen or dropped on a page, with those in folders.
 */

import type { IItem } from './uploadfile.js';

/** Files that were chosen; those of a folder have paths that begin with its name. */
export function chosenFiles(files: Iterable<File>): readonly IItem[] {
  return [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Files that were dropped. To be called while the event is handled: what was dropped is gone afterwards. */
export function droppedFiles(transfer: DataTransfer): Promise<readonly IItem[]> {
  const entries = [...transfer.items].flatMap(item => item.webkitGetAsEntry() ?? []);
  return Promise.all(entries.map(entry => filesOf(entry))).then(found => found.flat());
}

async function filesOf(entry: FileSystemEntry): Promise<readonly IItem[]> {
  const path = entry.fullPath.replace(/^\//, '');
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  if (!isFolder(entry)) {
    return [];
  }
  const reader = entry.createReader();
  const found: IItem[] = [];
  for (;;) {
    // A part at a time, until there is none.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) {
      return found;
    }
    for (const one of some) {
      found.push(...(await filesOf(one)));
    }
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
