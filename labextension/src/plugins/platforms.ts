/**
 * The platforms in the side panel, and the command that shows them.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';

import { COMMANDS } from '../host/commandids.js';
import { platformsIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { addPanel, makePanel, reveal } from './sidepanel.js';
import { IPage } from './tokens.js';

export const platformsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:platforms',
  description: 'Shows the free resources, jobs and storages of each platform, and imports jobs.',
  autoStart: true,
  requires: [IPage],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    page: IContext,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ) => {
    const { trans } = page;
    const load = async () => new (await import('../platforms/panel.js')).PlatformsPanel(page);
    const panel = makePanel(load, trans, 'jp-pai-platforms', platformsIcon, trans.__('Platforms'));
    void addPanel(app, labShell, restorer, panel, 552);
    app.commands.addCommand(COMMANDS.showPlatforms, {
      label: trans.__('Show Platforms'),
      caption: trans.__('Free resources, jobs and storages of each platform'),
      icon: platformsIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: async () => {
        reveal(app, labShell, panel);
        (await panel.load()).focusWhenRendered();
      }
    });
    palette?.addItem({ command: COMMANDS.showPlatforms, category: trans.__('Training') });
  }
};
