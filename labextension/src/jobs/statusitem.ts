/**
 * How many jobs have not ended, in JupyterLab's status bar.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { JobNews } from './feed.js';

export class StatusItem extends Widget {
  constructor(
    private readonly news: JobNews,
    private readonly trans: TranslationBundle,
    click: () => void
  ) {
    const node = document.createElement('button');
    super({ node });
    node.type = 'button';
    node.onclick = click;
    node.title = trans.__('Training jobs that have not ended');
    this.addClass('jp-pai-StatusItem');
    this.addClass('jp-mod-highlighted');
    news.runningChanged.connect(this.write);
  }

  private readonly write = (): void => {
    this.node.textContent = this.trans.__('Jobs: %1', this.news.running ?? 0);
  };
}
