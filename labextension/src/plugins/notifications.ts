/**
 * Job status outside of the job list: a count in the status bar, and notifications when jobs end.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import type { TranslationBundle } from '@jupyterlab/translation';

import { faultOf } from '../api/compatibility.js';
import type { IJob } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { pageSettings } from '../host/settings.js';
import { JobNews } from '../jobs/feed.js';
import type { ITeller } from '../jobs/notifications.js';
import { Ends } from '../jobs/notifications.js';
import { Memory, lockedBy } from '../jobs/notificationstore.js';
import { StatusItem } from '../jobs/statusitem.js';
import type { IContext } from '../ui/context.js';
import { IPage } from './tokens.js';

const ID = 'jupyter-pai:news';
// Milliseconds that a visible or hidden window waits for a focused one to notify first.
const [BESIDE, BEHIND] = [250, 1500];
// Maximum length of a name in a notification, and milliseconds until it closes.
const [NAME, SHORTLY] = [40, 15_000];

export const newsPlugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'Counts active training jobs in the status bar, and notifies when they end.',
  autoStart: true,
  requires: [IPage],
  optional: [IStatusBar, ISettingRegistry],
  activate: (app: JupyterFrontEnd, page: IContext, bar: IStatusBar | null, settings: ISettingRegistry | null) => {
    const news = new JobNews(page.engine);
    if (bar) {
      const item = new StatusItem(news, page.trans, () => void app.commands.execute(COMMANDS.showJobs));
      const isActive = () => news.running !== null;
      bar.registerStatusItem(ID, { item, align: 'left', rank: 10, isActive, activeStateChanged: news.runningChanged });
    }
    const key = `${ID}:${app.serviceManager.serverSettings.baseUrl}`;
    const memory = new Memory(localStorage, key, lockedBy(key));
    const teller = new Teller(app, page.trans);
    new Ends(page.engine, memory, teller, attention).listen(news);
    void app.restored.then(async () => {
      teller.isOn = await wanted(settings, isOn => (teller.isOn = isOn));
      const fault = await faultOf(page.engine, page.trans);
      if (fault?.code === 'OtherVersion') {
        Notification.warning(`${fault.message} ${fault.fix}`, { autoClose: false });
      }
      news.follow(new AbortController().signal); // As long as the page lives.
    });
  }
};

/** Return whether notifications are enabled; report changes of the setting. */
async function wanted(registry: ISettingRegistry | null, changed: (isOn: boolean) => void): Promise<boolean> {
  const settings = await pageSettings(registry);
  const isOn = () => settings?.get('notifications').composite !== false;
  settings?.changed.connect(() => changed(isOn()));
  return isOn();
}

function attention(): number {
  return document.hasFocus() ? 0 : document.visibilityState === 'visible' ? BESIDE : BEHIND;
}

/** Shows JupyterLab notifications, which display texts without markup. */
class Teller implements ITeller {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly trans: TranslationBundle
  ) {}

  isOn = true;

  one(job: IJob): void {
    if (!this.isOn) {
      return;
    }
    const { trans } = this;
    const actions = [{ label: trans.__('Open'), callback: () => void this.run(COMMANDS.openJob, { id: job.id }) }];
    const name = job.name.length > NAME ? `${job.name.slice(0, NAME)}…` : job.name;
    if (job.status === 'succeeded') {
      Notification.success(trans.__('%1 succeeded.', name), { autoClose: SHORTLY, actions });
    } else if (job.status === 'stopped') {
      Notification.info(trans.__('%1 was stopped.', name), { autoClose: SHORTLY, actions });
    } else {
      const text =
        job.status === 'lost'
          ? trans.__('%1 was lost: %2', name, job.reason)
          : trans.__('%1 failed: %2', name, job.reason);
      Notification.error(text, { autoClose: false, actions });
    }
  }

  many(counts: ReadonlyMap<string, number>): void {
    if (!this.isOn) {
      return;
    }
    const { trans } = this;
    const count = (status: string) => counts.get(status) ?? 0;
    const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
    const bad = count('failed') + count('lost');
    const actions = [{ label: trans.__('Show jobs'), callback: () => void this.run(COMMANDS.showJobs) }];
    const text = trans.__('%1 jobs ended: %2 succeeded, %3 failed.', all, count('succeeded'), bad);
    Notification.emit(text, bad ? 'warning' : 'success', { autoClose: false, actions });
  }

  private async run(command: string, args: { id?: string } = {}): Promise<void> {
    await this.app.commands.execute(command, args);
  }
}
