/**
 * The item under the pointer when a context menu of the file browser was opened.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { FileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { Contents } from '@jupyterlab/services';

const ITEM = 'jp-DirListing-item';

type Item = Pick<Contents.IModel, 'path' | 'type'>;

/** Return the file or folder under the pointer; undefined if there is none. */
export function itemAt(app: JupyterFrontEnd, files: IFileBrowserFactory | null): Item | undefined {
  const [node, browser] = targetOf(app, files);
  if (!node || !browser) {
    return undefined;
  }
  // `modelForClick` hit-tests by coordinates, and a menu opened by the keyboard has none of an item.
  const { left, top, width, height } = node.getBoundingClientRect();
  return browser.modelForClick(new MouseEvent('contextmenu', { clientX: left + width / 2, clientY: top + height / 2 }));
}

/** Return the paths of all selected items of the file browser whose context menu was opened. */
export function selectedAt(app: JupyterFrontEnd, files: IFileBrowserFactory | null): string[] {
  const [, browser] = targetOf(app, files);
  return Array.from(browser?.selectedItems() ?? [], item => item.path);
}

function targetOf(
  app: JupyterFrontEnd,
  files: IFileBrowserFactory | null
): [HTMLElement | undefined, FileBrowser | undefined] {
  const node = app.contextMenuHitTest(element => element.classList.contains(ITEM));
  return [node, node && files?.tracker.find(browser => browser.node.contains(node))];
}

// The names of the job files that the server's backends read.
let jobFiles: readonly RegExp[] = [];

/** Set the names of job files, as globs. Before, only scripts and notebooks can be trained. */
export function setJobFiles(globs: readonly string[]): void {
  jobFiles = globs.map(glob => {
    const parts = glob.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`);
  });
}

/** Return whether an item can be trained: a folder, a notebook, a script, or a job file of a platform. */
export function canTrain(item: Item | undefined): boolean {
  if (item === undefined) {
    return false;
  }
  const name = item.path.slice(item.path.lastIndexOf('/') + 1);
  return item.type === 'directory' || /\.(ipynb|py|sh)$/.test(name) || jobFiles.some(glob => glob.test(name));
}
