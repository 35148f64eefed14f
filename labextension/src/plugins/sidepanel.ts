/**
 * Views beside the notebook: in the left area; on Notebook 7's file page, which has none, in tabs beside the files.
 */

import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import type { Widget } from '@lumino/widgets';
import { TabPanel } from '@lumino/widgets';

/** The tabs of Notebook 7's file page; null anywhere else. */
export function filePage(app: JupyterFrontEnd, labShell: ILabShell | null): TabPanel | null {
  const [main] = labShell ? [] : app.shell.widgets('main');
  return main instanceof TabPanel ? main : null;
}

/** Add a view, and tell when it has its place. Its title has an icon and a caption. */
export async function addPanel(
  app: JupyterFrontEnd,
  labShell: ILabShell | null,
  restorer: ILayoutRestorer | null,
  panel: Widget,
  rank: number
): Promise<void> {
  if (labShell) {
    labShell.add(panel, 'left', { rank });
    restorer?.add(panel, panel.id);
    return;
  }
  await app.restored;
  const tabs = filePage(app, labShell);
  if (tabs) {
    panel.title.label = panel.title.caption;
    tabs.addWidget(panel);
  } else {
    app.shell.add(panel, 'left', { rank });
  }
}

/** Bring a view that was added before to the front. */
export function reveal(app: JupyterFrontEnd, labShell: ILabShell | null, panel: Widget): void {
  const tabs = filePage(app, labShell);
  if (tabs) {
    tabs.currentWidget = panel;
  } else {
    app.shell.activateById(panel.id);
  }
}
