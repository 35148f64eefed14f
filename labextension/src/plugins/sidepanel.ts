/**
 * Side panels: in the left area of JupyterLab, and as tabs on the file page of Notebook 7, which has no left area.
 */

import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { Widget } from '@lumino/widgets';
import { TabPanel } from '@lumino/widgets';

import { LazyWidget } from '../ui/lazywidget.js';

/** Return the tabs of the file page of Notebook 7; null elsewhere. */
export function filePage(app: JupyterFrontEnd, labShell: ILabShell | null): TabPanel | null {
  const [main] = labShell ? [] : app.shell.widgets('main');
  return main instanceof TabPanel ? main : null;
}

/** Return a panel whose content is created when it is first shown. */
export function makePanel<T extends Widget>(
  create: () => Promise<T>,
  trans: TranslationBundle,
  id: string,
  icon: LabIcon,
  caption: string
): LazyWidget<T> {
  const panel = new LazyWidget(create, trans);
  panel.id = id;
  panel.title.icon = icon;
  panel.title.caption = caption;
  panel.node.setAttribute('aria-label', caption);
  return panel;
}

/** Add a panel; resolved when it is placed. Its title has an icon and a caption. */
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

/** Activate a panel. */
export function reveal(app: JupyterFrontEnd, labShell: ILabShell | null, panel: Widget): void {
  const tabs = filePage(app, labShell);
  if (tabs) {
    tabs.currentWidget = panel;
  } else {
    app.shell.activateById(panel.id);
  }
}
