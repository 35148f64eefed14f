/**
 * The files of a file input or a drop, including those in folders.
 */

import type { IItem } from './upload.js';

/** Return selected files; the paths of a selected folder start with its name. */
export function chosenFiles(files: Iterable<File>): readonly IItem[] {
  return [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }));
}

/**
 * Return dropped files. Must be called synchronously in the event handler, since the data is cleared afterwards.
 *
 * @throws Error if a file cannot be read.
 */
export function droppedFiles(data: DataTransfer): Promise<readonly IItem[]> {
  const files = [...data.items].map(item => {
    const entry = item.webkitGetAsEntry();
    const file = entry ? null : item.getAsFile();
    return entry ? filesOf(entry) : file ? Promise.resolve(chosenFiles([file])) : Promise.resolve([]);
  });
  return Promise.all(files).then(items => items.flat());
}

async function filesOf(entry: FileSystemEntry): Promise<readonly IItem[]> {
  const path = entry.fullPath.replace(/^\//, '');
  if (isFile(entry)) {
    const file = await readEntry<File>(path, (resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  if (!isFolder(entry)) {
    return [];
  }
  const reader = entry.createReader();
  const files: IItem[] = [];
  for (;;) {
    // Entries are returned in batches until an empty one.
    const batch = await readEntry<FileSystemEntry[]>(path, (resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) {
      return files;
    }
    for (const child of batch) {
      files.push(...(await filesOf(child)));
    }
  }
}

/** Read an entry; add its path to the error, which browsers do not report. */
function readEntry<T>(
  path: string,
  start: (resolve: (result: T) => void, reject: (error: Error) => void) => void
): Promise<T> {
  return new Promise((resolve, reject) => start(resolve, error => reject(new Error(`${path}: ${error.message}`))));
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
