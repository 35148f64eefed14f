/**
 * The renderer of cell outputs with a job.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { IRenderMimeRegistry, RenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { PanelLayout, Widget } from '@lumino/widgets';

import { parseOutput } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import { IPage } from './tokens.js';

const MIME_TYPE = 'application/vnd.jupyter-pai.job+json';
// Preferred over the widget and `text/html`, which may be in the same MIME bundle.
const RANK = -20;

/** Renders the job of a cell output. Shows the saved output until the view is loaded. */
class JobRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(private readonly context: IContext) {
    super();
    this.layout = new PanelLayout();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const output = parseOutput(model.data[MIME_TYPE]);
    if (output.jobId === this.jobId) {
      return; // The view is already active.
    }
    this.jobId = output.jobId;
    const { JobWidget } = await import('../job/widget.js');
    if (!this.isDisposed && output.jobId === this.jobId) {
      const layout = this.layout as PanelLayout;
      [...layout.widgets].forEach(widget => widget.dispose());
      layout.addWidget(new JobWidget(this.context, output.jobId, output.snapshot));
    }
  }

  private jobId = '';
}

/** Renders jobs in cell outputs. */
export const rendererPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:renderer',
  description: 'Shows live training jobs in cell outputs.',
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
