/**
 * The number of active jobs in JupyterLab's status bar.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { jobCount } from '../ui/format.js';
import type { JobFeed } from './feed.js';

export class StatusItem extends Widget {
  constructor(
    private readonly feed: JobFeed,
    private readonly trans: TranslationBundle,
    click: () => void
  ) {
    const node = document.createElement('button');
    super({ node });
    node.type = 'button';
    node.onclick = click;
    node.title = trans.__('Active training jobs');
    this.addClass('jp-pai-StatusItem');
    this.addClass('jp-mod-highlighted');
    feed.runningChanged.connect(this.updateText);
  }

  private readonly updateText = (): void => {
    this.node.textContent = jobCount(this.feed.running ?? 0, this.trans);
  };
}
