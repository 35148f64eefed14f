/**
 * The comparison of jobs as a Lumino widget.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { Compare } from './components/compare.js';
import type { IContext } from './components/context.js';

export class CompareWidget extends ReactWidget {
  constructor(
    private readonly context: IContext,
    private readonly jobIds: readonly string[]
  ) {
    super();
    this.addClass('jp-pai-CompareWidget');
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.update();
  }

  protected override render(): React.JSX.Element {
    return <Compare {...this.context} jobIds={this.jobIds} isVisible={this.isVisible} />;
  }
}
