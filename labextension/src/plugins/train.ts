/**
 * The Train form in the side panel, and its commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';

import type { Json } from '../api/wire.js';
import { string } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import type { IProfilesTarget } from '../host/host.js';
import { trainIcon } from '../host/icons.js';
import type { IContext } from '../ui/context.js';
import { addPanel, makePanel, reveal } from './sidepanel.js';
import { IPage, ITrain } from './tokens.js';

const PATH = {
  type: 'object',
  properties: {
    path: {
      type: 'string',
      description:
        'A notebook, script or folder, below the server root. Default: the active or last active notebook or script, else the folder of the file browser.'
    }
  }
};

const PROFILE = {
  type: 'object',
  properties: {
    profile: { type: 'string', description: 'A profile to edit. Default: show all profiles.' },
    login: { type: 'boolean', description: 'Open the login of that profile.' }
  }
};

const BACKEND = {
  type: 'object',
  properties: { backend: { type: 'string', description: 'The backend of the platform. Default: ask the user.' } }
};

export const trainPlugin: JupyterFrontEndPlugin<ITrain> = {
  id: 'jupyter-pai:train',
  description: 'A form that submits a notebook, script or folder as a training job.',
  autoStart: true,
  provides: ITrain,
  requires: [IPage],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    page: IContext,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ) => {
    const load = async () => {
      const [{ TrainPanel }, { profilesView }] = await Promise.all([
        import('../train/panel.js'),
        import('../profiles/view.js')
      ]);
      return new TrainPanel(page, profilesView(page));
    };
    const panel = makePanel(load, page.trans, 'jp-pai-train', trainIcon, page.trans.__('Train'));
    void addPanel(app, labShell, restorer, panel, 549);
    const train: ITrain = {
      open: async (path: string, request?: Json) => {
        reveal(app, labShell, panel);
        await (await panel.load()).open(path, request);
      },
      again: async (path: string) => {
        const view = await panel.load().catch(() => null); // The panel reports the error.
        if (!(await view?.model.submitAgain(path))) {
          await train.open(path);
        }
      },
      useInput: (uri, profile) => {
        reveal(app, labShell, panel);
        void panel.load().then(({ model }) => model.useInput(uri, profile));
      }
    };
    const showProfiles = async (target: IProfilesTarget) => {
      reveal(app, labShell, panel);
      (await panel.load()).showProfiles(target);
    };
    addProfileCommands(app, page, showProfiles);
    addCommands(app, page, train, () => reveal(app, labShell, panel), palette);
    return train;
  }
};

function addCommands(
  { commands }: JupyterFrontEnd,
  { host, trans }: IContext,
  train: ITrain,
  show: () => void,
  palette: ICommandPalette | null
): void {
  const pathOf = (path: unknown) => (typeof path === 'string' ? path : host.document?.() || host.folder?.() || '');
  commands.addCommand(COMMANDS.showTrain, {
    label: trans.__('Show Train'),
    icon: trainIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: show
  });
  commands.addCommand(COMMANDS.train, {
    label: trans.__('Train…'),
    caption: trans.__('Review the files and settings, and submit a training job'),
    icon: trainIcon,
    describedBy: { args: PATH },
    execute: ({ path }) => train.open(pathOf(path))
  });
  commands.addCommand(COMMANDS.trainAgain, {
    label: trans.__('Train Again with the Last Settings'),
    describedBy: { args: PATH },
    execute: ({ path }) => train.again(pathOf(path))
  });
  const category = trans.__('Training');
  for (const command of [COMMANDS.train, COMMANDS.trainAgain, COMMANDS.profiles, COMMANDS.addPlatform]) {
    palette?.addItem({ command, category });
  }
}

function addProfileCommands(
  { commands }: JupyterFrontEnd,
  { trans }: IContext,
  show: (target: IProfilesTarget) => Promise<void>
): void {
  commands.addCommand(COMMANDS.profiles, {
    label: trans.__('Profiles'),
    caption: trans.__('Platforms and accounts for training jobs'),
    describedBy: { args: PROFILE },
    execute: ({ profile, login }) => show({ profile: string(profile), atLogin: login === true })
  });
  commands.addCommand(COMMANDS.addPlatform, {
    label: trans.__('Add Platform…'),
    caption: trans.__('Add a platform for training jobs, by its address'),
    describedBy: { args: BACKEND },
    execute: ({ backend }) => show({ isNew: true, backend: string(backend) })
  });
}
