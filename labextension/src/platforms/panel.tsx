/**
 * The platforms as a Lumino widget in the side panel.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { focusContent, Platforms } from './view.js';

export class PlatformsPanel extends ReactWidget {
  constructor(private readonly context: IContext) {
    super();
    this.addClass('jp-pai-PlatformsPanel');
    this.node.lang = context.lang;
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  /** Focus the first profile once it is rendered. */
  focusWhenRendered(): void {
    void this.renderPromise?.then(() => {
      const view = this.node.querySelector<HTMLElement>('.jp-pai-Platforms');
      if (view) {
        focusContent(view);
      }
    });
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <Platforms {...this.context} isVisible={this.visibility.isVisible} />;
  }

  private readonly visibility: VisibilityObserver;
}
