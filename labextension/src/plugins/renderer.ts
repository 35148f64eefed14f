/**
 * The renderers of cell outputs with a job, or with a run of a workflow.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { IRenderMimeRegistry, RenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { PanelLayout, Widget } from '@lumino/widgets';

import { parseOutput } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import { IPage } from './tokens.js';

/** A kind of output. `show` loads the view of an id. */
interface IOutputKind {
  readonly mimeType: string;
  /** The key of the id in the data. */
  readonly key: string;
  readonly show: (context: IContext, id: string, snapshot: string) => Promise<Widget>;
}

const KINDS: readonly IOutputKind[] = [
  {
    mimeType: 'application/vnd.jupyter-pai.job+json',
    key: 'job_id',
    show: async (context, id, snapshot) => new (await import('../job/widget.js')).JobWidget(context, id, snapshot)
  },
  {
    mimeType: 'application/vnd.jupyter-pai.workflow+json',
    key: 'workflow',
    show: async (context, id, snapshot) =>
      new (await import('../workflows/widget.js')).WorkflowWidget(context, id, snapshot)
  }
];
// Preferred over the widget and `text/html`, which may be in the same MIME bundle.
const RANK = -20;

/** Renders the view of a cell output. Shows the saved output until the view is loaded. */
class OutputRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly kind: IOutputKind,
    private readonly context: IContext
  ) {
    super();
    this.layout = new PanelLayout();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const { mimeType, key, show } = this.kind;
    const output = parseOutput(model.data[mimeType], key);
    if (output.id === this.shownId) {
      return; // The view is already active.
    }
    this.shownId = output.id;
    const view = await show(this.context, output.id, output.snapshot);
    if (!this.isDisposed && output.id === this.shownId) {
      const layout = this.layout as PanelLayout;
      [...layout.widgets].forEach(widget => widget.dispose());
      layout.addWidget(view);
    } else {
      view.dispose();
    }
  }

  private shownId = '';
}

/** Renders jobs and workflows in cell outputs. */
export const rendererPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:renderer',
  description: 'Shows live training jobs and workflows in cell outputs.',
  autoStart: true,
  requires: [IPage, IRenderMimeRegistry],
  activate: (app: JupyterFrontEnd, page: IContext, rendermime: IRenderMimeRegistry) => {
    const { contents } = app.serviceManager;
    for (const kind of KINDS) {
      const createRenderer = ({ resolver }: IRenderMime.IRendererOptions) =>
        new OutputRenderer(
          kind,
          resolver instanceof RenderMimeRegistry.UrlResolver
            ? { ...page, folder: () => PathExt.dirname(contents.localPath(resolver.path)) }
            : page
        );
      rendermime.addFactory({ safe: true, mimeTypes: [kind.mimeType], createRenderer }, RANK);
    }
  }
};
