/**
 * What a context menu was opened on in a file browser: the item under the pointer, however many are selected.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { FileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { Contents } from '@jupyterlab/services';

const ITEM = 'jp-DirListing-item';

type Item = Pick<Contents.IModel, 'path' | 'type'>;

/** The file or folder, if there is one. */
export function itemAt(app: JupyterFrontEnd, files: IFileBrowserFactory | null): Item | undefined {
  const [node, browser] = pointed(app, files);
  if (!node || !browser) {
    return undefined;
  }
  // A browser asks which of its items a click hit, and a keyboard's menu is a click on none.
  const { left, top, width, height } = node.getBoundingClientRect();
  return browser.modelForClick(new MouseEvent('contextmenu', { clientX: left + width / 2, clientY: top + height / 2 }));
}

/** The paths of all that is selected where a context menu was opened. */
export function selectedAt(app: JupyterFrontEnd, files: IFileBrowserFactory | null): string[] {
  const [, browser] = pointed(app, files);
  return Array.from(browser?.selectedItems() ?? [], item => item.path);
}

function pointed(
  app: JupyterFrontEnd,
  files: IFileBrowserFactory | null
): [HTMLElement | undefined, FileBrowser | undefined] {
  const node = app.contextMenuHitTest(one => one.classList.contains(ITEM));
  return [node, node && files?.tracker.find(one => one.node.contains(node))];
}

/** Whether something can be run by itself: a folder, a notebook, a script. */
export function canTrain(item: Item | undefined): boolean {
  return item !== undefined && (item.type === 'directory' || /\.(ipynb|py|sh)$/.test(item.path));
}
