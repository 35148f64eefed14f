/**
 * What JupyterLab and Notebook 7 are given.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { URLExt } from '@jupyterlab/coreutils';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { ServerConnection } from '@jupyterlab/services';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { JobStream } from './stream.js';
import { JobView } from './view.js';
import { parseOutput } from './wire.js';

const MIME_TYPE = 'application/vnd.jupyter-pai.job+json';
// Before `text/html`, the static summary in the same bundle.
const RANK = 0;

class JobRenderer extends JobView implements IRenderMime.IRenderer {
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.showOutput(parseOutput(model.data[MIME_TYPE]));
    return Promise.resolve();
  }
}

/** Shows jobs in the outputs of cells. */
export const renderer: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:renderer',
  description: 'Shows training jobs in the outputs of cells, live from the server.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITranslator],
  activate: (app: JupyterFrontEnd, rendermime: IRenderMimeRegistry, translator: ITranslator | null) => {
    const trans = (translator ?? nullTranslator).load('jupyter_pai');
    const stream = new JobStream(() => openSocket(app.serviceManager.serverSettings));
    const createRenderer = () => new JobRenderer(stream, trans);
    rendermime.addFactory({ safe: true, mimeTypes: [MIME_TYPE], createRenderer }, RANK);
  }
};

function openSocket(settings: ServerConnection.ISettings): WebSocket {
  let url = URLExt.join(settings.wsUrl, 'pai/api/v1/stream');
  if (settings.appendToken && settings.token) {
    url += `?token=${encodeURIComponent(settings.token)}`;
  }
  return new settings.WebSocket(url);
}
