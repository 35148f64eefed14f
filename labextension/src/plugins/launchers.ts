/**
 * Commands in the notebook toolbar, the file browser and the launcher. Menus, shortcuts and the order of toolbar items
 * are defined in `schema/places.json`.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell } from '@jupyterlab/application';
import { ICommandPalette, IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import type { DocumentWidget } from '@jupyterlab/docregistry';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { redoIcon, ToolbarButton } from '@jupyterlab/ui-components';

import { record, string, strings } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { canTrain, itemAt, selectedAt, setJobFiles } from '../host/contextitem.js';
import { explorerIcon, trainIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { filePage } from './sidepanel.js';
import { URL_PARAMETERS } from './tabs.js';
import { IPage } from './tokens.js';
import { addTutorials } from './tutorials.js';

const CARD = {
  type: 'object',
  properties: {
    cwd: {
      type: 'string',
      description: 'The folder of the launcher. Default: the item that the context menu was opened on.'
    }
  }
};

export const launchersPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:places',
  description: 'Adds training commands to toolbars, menus, the file browser and the launcher.',
  autoStart: true,
  requires: [IPage],
  optional: [ILabShell, IToolbarWidgetRegistry, IFileBrowserFactory, ILauncher, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    page: IContext,
    labShell: ILabShell | null,
    toolbars: IToolbarWidgetRegistry | null,
    files: IFileBrowserFactory | null,
    launcher: ILauncher | null,
    palette: ICommandPalette | null
  ) => {
    addTutorials(app, page);
    addItems(app, page, files);
    if (toolbars) {
      addButtons(app, page, toolbars);
    }
    const category = page.trans.__('Training');
    palette?.addItem({ command: COMMANDS.openTutorials, category });
    const args = { cwd: '' }; // Replaced by the folder of the launcher.
    launcher?.add({ command: COMMANDS.trainItem, category, args, rank: 1 });
    launcher?.add({ command: COMMANDS.openTutorials, category, args, rank: 2 });
    void app.restored.then(() => {
      page.engine.call('about').then(
        reply => setJobFiles(strings(record(reply)['job_files'])),
        () => undefined // The notification of a missing server extension explains it.
      );
      const path = new URLSearchParams(location.search).get(URL_PARAMETERS.train);
      if (path !== null && filePage(app, labShell)) {
        void app.commands.execute(COMMANDS.train, { path });
      }
    });
  }
};

/** Add buttons to the toolbar of a notebook. They apply to that notebook, whichever one is active. */
function addButtons(app: JupyterFrontEnd, { trans }: IContext, toolbars: IToolbarWidgetRegistry): void {
  const { contents } = app.serviceManager;
  const run = (command: string, panel: DocumentWidget) =>
    void app.commands.execute(command, { path: contents.localPath(panel.context.path) });
  toolbars.addFactory<DocumentWidget>(
    'Notebook',
    'train',
    panel =>
      new ToolbarButton({
        icon: trainIcon,
        label: trans.__('Train'),
        tooltip: trans.__('Train this notebook'),
        onClick: () => run(COMMANDS.train, panel)
      })
  );
  toolbars.addFactory<DocumentWidget>(
    'Notebook',
    'train-again',
    panel =>
      new ToolbarButton({
        icon: redoIcon,
        tooltip: trans.__('Train this notebook again with the last settings'),
        onClick: () => run(COMMANDS.trainAgain, panel)
      })
  );
}

/** Add commands for the item under a context menu of the file browser, and for the folder of a launcher. */
function addItems(app: JupyterFrontEnd, { trans }: IContext, files: IFileBrowserFactory | null): void {
  const { commands, serviceManager } = app;
  commands.addCommand(COMMANDS.trainItem, {
    label: args => ('cwd' in args ? trans.__('Train') : trans.__('Train…')),
    caption: trans.__('Train the code in this folder'),
    icon: trainIcon,
    describedBy: { args: CARD },
    isVisible: args => 'cwd' in args || canTrain(itemAt(app, files)),
    execute: args => {
      const path = 'cwd' in args ? string(args['cwd']) : (itemAt(app, files)?.path ?? '');
      return commands.execute(COMMANDS.train, { path: serviceManager.contents.localPath(path) });
    }
  });
  commands.addCommand(COMMANDS.copyItem, {
    label: trans.__('Copy to Storage…'),
    icon: explorerIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      const paths = selectedAt(app, files).map(path => serviceManager.contents.localPath(path));
      return paths.length ? commands.execute(COMMANDS.showExplorer, { paths }) : undefined;
    }
  });
}
