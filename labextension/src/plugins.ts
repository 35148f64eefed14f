/**
 * What JupyterLab and Notebook 7 are given. Little is loaded here: the views come when they are first shown.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { IRenderMimeRegistry, RenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { IContext } from './components/context.js';
import { jobsPlugin } from './jobsplugin.js';
import { LabHost } from './labhost.js';
import { newsPlugin } from './newsplugin.js';
import { ServerEngine } from './server.js';
import { IPage } from './tokens.js';
import { trainPlugin } from './trainplugin.js';
import { parseOutput } from './wire.js';

const MIME_TYPE = 'application/vnd.jupyter-pai.job+json';
// Before the widget and `text/html`, which may be in the same bundle.
const RANK = -20;

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

/** What all the others share. */
const pagePlugin: JupyterFrontEndPlugin<IContext> = {
  id: 'jupyter-pai:page',
  description: 'Connects this page with the training jobs of its server.',
  autoStart: true,
  provides: IPage,
  optional: [ITranslator, ILabShell, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    translator: ITranslator | null,
    shell: ILabShell | null,
    files: IDefaultFileBrowser | null
  ) => {
    const { languageCode } = translator ?? nullTranslator;
    const trans = (translator ?? nullTranslator).load('jupyter_pai');
    const engine = new ServerEngine(app.serviceManager.serverSettings, trans, languageCode.replace('_', '-'));
    return { engine, trans, host: new LabHost(app, trans, shell, files) };
  }
};

/** Shows jobs in the outputs of cells. */
const renderer: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:renderer',
  description: 'Shows training jobs in the outputs of cells, live from the server.',
  autoStart: true,
  requires: [IPage, IRenderMimeRegistry],
  activate: (app: JupyterFrontEnd, page: IContext, rendermime: IRenderMimeRegistry) => {
    const { contents } = app.serviceManager;
    const createRenderer = ({ resolver }: IRenderMime.IRendererOptions) =>
      new JobRenderer(
        resolver instanceof RenderMimeRegistry.UrlResolver
          ? { ...page, folder: () => PathExt.dirname(contents.localPath(resolver.path)) }
          : page
      );
    rendermime.addFactory({ safe: true, mimeTypes: [MIME_TYPE], createRenderer }, RANK);
  }
};

export default [pagePlugin, renderer, jobsPlugin, trainPlugin, newsPlugin];
