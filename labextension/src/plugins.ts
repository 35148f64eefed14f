/**
 * What JupyterLab and Notebook 7 are given. Little is loaded here: the views come when they are first shown.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { IContext } from './components/context.js';
import { LabHost } from './labhost.js';
import { ServerEngine } from './server.js';
import { parseOutput } from './wire.js';

const MIME_TYPE = 'application/vnd.jupyter-pai.job+json';
// Before `text/html`, the static summary in the same bundle.
const RANK = 0;

/** Shows the job of an output: as it was saved until the view is there. */
class JobRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(private readonly context: IContext) {
    super();
    this.layout = new PanelLayout();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const output = parseOutput(model.data[MIME_TYPE]);
    if (output.jobId === this.jobId) {
      return; // The view is live already.
    }
    this.jobId = output.jobId;
    const { JobWidget } = await import('./widget.js');
    if (!this.isDisposed && output.jobId === this.jobId) {
      const layout = this.layout as PanelLayout;
      [...layout.widgets].forEach(widget => widget.dispose());
      layout.addWidget(new JobWidget(this.context, output.jobId, output.snapshot));
    }
  }

  private jobId = '';
}

/** Shows jobs in the outputs of cells. */
export const renderer: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:renderer',
  description: 'Shows training jobs in the outputs of cells, live from the server.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITranslator, ILabShell],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    translator: ITranslator | null,
    shell: ILabShell | null
  ) => {
    const { languageCode } = translator ?? nullTranslator;
    const trans = (translator ?? nullTranslator).load('jupyter_pai');
    const engine = new ServerEngine(app.serviceManager.serverSettings, languageCode.replace('_', '-'));
    const context: IContext = { engine, trans, host: new LabHost(app, trans, shell) };
    const createRenderer = () => new JobRenderer(context);
    rendermime.addFactory({ safe: true, mimeTypes: [MIME_TYPE], createRenderer }, RANK);
  }
};
