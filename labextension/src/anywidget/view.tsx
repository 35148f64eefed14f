/**
 * The job view as a widget on a page without the extension, fed by a kernel. It is bundled into one file with React,
 * which such pages do not provide, and loaded by `loader.ts`.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import type { IWidgetModel } from '../api/comm.js';
import { KernelEngine } from '../api/comm.js';
import { JobModel } from '../api/jobmodel.js';
import { string } from '../api/wire.js';
import { JobView } from '../job/view.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { prepare } from './page.js';

/** Show the job of a widget in a node; return a function that removes it. `texts` is a catalog, empty for English. */
export function show(widget: IWidgetModel, node: HTMLElement, texts: unknown): () => void {
  const { container, ...page } = prepare(node, texts);
  const engine = new KernelEngine(widget, page.trans);
  const model = new JobModel(engine, string(widget.get('job_id')));
  const root = createRoot(container);
  const draw = (isVisible: boolean) =>
    root.render(
      <JobView
        {...page}
        engine={engine}
        model={model}
        isVisible={isVisible}
        snapshot={string(widget.get('snapshot'))}
      />
    );
  draw(false);
  const visibility = new VisibilityObserver(node, draw);
  return () => {
    visibility.dispose();
    root.unmount();
    engine.dispose();
  };
}
