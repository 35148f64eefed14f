/**
 * The data explorer in the side panel, and the command that shows it.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';

import { string, strings } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { explorerIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { addPanel, makePanel, reveal } from './sidepanel.js';
import { IPage, ITrain } from './tokens.js';

const ARGS = {
  type: 'object',
  properties: {
    paths: {
      type: 'array',
      items: { type: 'string' },
      description: 'Files and folders to copy to a storage, below the server root. Default: only show the explorer.'
    },
    uri: { type: 'string', description: 'A folder of a storage to open, as a URI that ends with a slash.' },
    profile: { type: 'string', description: 'The profile with its account. Default: none is needed.' }
  }
};

export const explorerPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:explorer',
  description: 'Shows the content of storages; uploads, downloads, renames and deletes files.',
  autoStart: true,
  requires: [IPage],
  optional: [ITrain, ILabShell, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    page: IContext,
    train: ITrain | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ) => {
    const { trans } = page;
    const make = async () => {
      const [{ ExplorerPanel }, { ExplorerModel }] = await Promise.all([
        import('../storage/panel.js'),
        import('../storage/model.js')
      ]);
      const useInput = train && ((uri: string, profile: string) => train.useInput(uri, profile));
      const explorer = { ...page, model: new ExplorerModel(page.engine), useInput };
      return new ExplorerPanel(explorer, path => app.serviceManager.contents.localPath(path));
    };
    const panel = makePanel(make, trans, 'jp-pai-explorer', explorerIcon, trans.__('Explorer'));
    void addPanel(app, labShell, restorer, panel, 551);
    app.commands.addCommand(COMMANDS.showExplorer, {
      label: trans.__('Show Data Explorer'),
      icon: explorerIcon,
      describedBy: { args: ARGS },
      execute: async ({ paths, uri, profile }) => {
        reveal(app, labShell, panel);
        const explorer = await panel.load();
        if (paths) {
          await explorer.copyToFolder(strings(paths));
        } else if (uri) {
          await explorer.open(string(uri), string(profile));
        } else {
          explorer.focusWhenRendered();
        }
      }
    });
    palette?.addItem({ command: COMMANDS.showExplorer, category: trans.__('Training') });
  }
};
