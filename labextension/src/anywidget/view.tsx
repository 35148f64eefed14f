/**
 * The views of a job and of a workflow as widgets on a page without the extension, fed by a kernel. They are bundled
 * into one file with React, which such pages do not provide, and loaded by `loader.ts`.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import type { IWidgetModel } from '../api/comm.js';
import { KernelEngine } from '../api/comm.js';
import { JobModel } from '../api/jobmodel.js';
import { string } from '../api/wire.js';
import { JobView } from '../job/view.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { WorkflowView } from '../workflows/view.js';
import { prepare } from './page.js';

/**
 * Show the job or the workflow of a widget in a node; return a function that removes it. `texts` is a catalog, empty
 * for English.
 */
export function show(widget: IWidgetModel, node: HTMLElement, texts: unknown): () => void {
  const { container, ...page } = prepare(node, texts);
  const engine = new KernelEngine(widget, page.trans);
  const context = { ...page, engine };
  const root = createRoot(container);
  const runId = string(widget.get('workflow'));
  const model = runId ? null : new JobModel(engine, string(widget.get('job_id')));
  const draw = (isVisible: boolean) => {
    const common = { ...context, isVisible, snapshot: string(widget.get('snapshot')) };
    root.render(model ? <JobView {...common} model={model} /> : <WorkflowView {...common} runId={runId} />);
  };
  draw(false);
  const visibility = new VisibilityObserver(node, draw);
  return () => {
    visibility.dispose();
    root.unmount();
    engine.dispose();
  };
}
