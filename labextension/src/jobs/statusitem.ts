/**
 * The number of active jobs in JupyterLab's status bar.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { jobCount } from '../ui/format.js';
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
    node.title = trans.__('Active training jobs');
    this.addClass('jp-pai-StatusItem');
    this.addClass('jp-mod-highlighted');
    news.runningChanged.connect(this.write);
  }

  private readonly write = (): void => {
    this.node.textContent = jobCount(this.news.running ?? 0, this.trans);
  };
}
