/**
 * The files in what was chosen or dropped on a page, with those in folders.
 */

import type { IItem } from './upload.js';

/** Files that were chosen; those of a folder have paths that begin with its name. */
export function chosenFiles(files: Iterable<File>): readonly IItem[] {
  return [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }));
}

/**
 * Files that were dropped. To be called while the event is handled: what was dropped is gone afterwards.
 *
 * @throws Error: if one of them cannot be read.
 */
export function droppedFiles(transfer: DataTransfer): Promise<readonly IItem[]> {
  const found = [...transfer.items].map(item => {
    const entry = item.webkitGetAsEntry();
    const file = entry ? null : item.getAsFile();
    return entry ? filesOf(entry) : file ? Promise.resolve(chosenFiles([file])) : Promise.resolve([]);
  });
  return Promise.all(found).then(items => items.flat());
}

async function filesOf(entry: FileSystemEntry): Promise<readonly IItem[]> {
  const path = entry.fullPath.replace(/^\//, '');
  if (isFile(entry)) {
    const file = await read<File>(path, (resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  if (!isFolder(entry)) {
    return [];
  }
  const reader = entry.createReader();
  const found: IItem[] = [];
  for (;;) {
    // A part at a time, until there is none.
    const some = await read<FileSystemEntry[]>(path, (resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) {
      return found;
    }
    for (const one of some) {
      found.push(...(await filesOf(one)));
    }
  }
}

/** What the browser reads; of what it cannot read, it does not say by itself which it was. */
function read<T>(path: string, ask: (resolve: (found: T) => void, reject: (error: Error) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => ask(resolve, error => reject(new Error(`${path}: ${error.message}`))));
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
