/**
 * The command that copies the tutorial notebooks to a folder and opens the first one.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { LabIcon } from '@jupyterlab/ui-components';

import { errorText } from '../api/engine.js';
import { record, string } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import type { IContext } from '../ui/context.js';

const tutorialsIcon = new LabIcon({
  name: 'jupyter-pai:tutorials',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M12 4L1 9l11 5 9-4.1V17h2V9L12 4z"/>' +
    '<path class="jp-icon3" fill="#616161" d="M5 13v4.2c2 1.8 4.4 2.8 7 2.8s5-1 7-2.8V13l-7 3.2L5 13z"/>' +
    '</svg>'
});

const FOLDER = {
  type: 'object',
  properties: { cwd: { type: 'string', description: 'A folder below the server root. Default: the root.' } }
};

/** Add the command that opens the tutorials. Existing copies are kept. */
export function addTutorials(app: JupyterFrontEnd, { engine, host, trans }: IContext): void {
  const { contents } = app.serviceManager;
  app.commands.addCommand(COMMANDS.openTutorials, {
    label: args => ('cwd' in args ? trans.__('Tutorials') : trans.__('Open Training Tutorials')),
    caption: trans.__('Copy the tutorial notebooks to a folder and open them'),
    icon: tutorialsIcon,
    describedBy: { args: FOLDER },
    execute: async ({ cwd }) => {
      const folder = contents.localPath(string(cwd) || host.folder?.() || '');
      try {
        const { place, first } = record(await engine.call('give_tutorials', {}, { folder }));
        await app.commands.execute('docmanager:open', { path: [place, first].map(string).filter(Boolean).join('/') });
      } catch (error) {
        host.notify(errorText(error), 'error');
      }
    }
  });
}
