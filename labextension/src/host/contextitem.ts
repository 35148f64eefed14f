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

/** Return whether an item can be trained: a folder, a notebook or a script. */
export function canTrain(item: Item | undefined): boolean {
  return item !== undefined && (item.type === 'directory' || /\.(ipynb|py|sh)$/.test(item.path));
}
