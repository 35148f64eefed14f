/**
 * Job status outside of the job list: a count in the status bar, and notifications when jobs end.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { compatibilityError } from '../api/compatibility.js';
import type { IJob } from '../api/wire.js';
import { COMMANDS } from '../host/commandids.js';
import { pageSettings } from '../host/settings.js';
import { JobFeed } from '../jobs/feed.js';
import type { INotifier } from '../jobs/notifications.js';
import { JobNotifications } from '../jobs/notifications.js';
import { exclusiveBy, NotificationStore } from '../jobs/notificationstore.js';
import type { IContext } from '../ui/context.js';
import { jobCount } from '../ui/format.js';
import { IPage } from './tokens.js';

const ID = 'jupyter-pai:news';
// Milliseconds that a visible or hidden window waits for a focused one to notify first.
const VISIBLE_DELAY = 250;
const HIDDEN_DELAY = 1500;
// Maximum length of a name in a notification, and milliseconds until it closes.
const MAX_NAME = 40;
const CLOSE_AFTER = 15_000;

export const notificationsPlugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'Counts active training jobs in the status bar, and notifies when they end.',
  autoStart: true,
  requires: [IPage],
  optional: [IStatusBar, ISettingRegistry],
  activate: (app: JupyterFrontEnd, page: IContext, bar: IStatusBar | null, settings: ISettingRegistry | null) => {
    const feed = new JobFeed(page.engine);
    if (bar) {
      const item = new StatusItem(feed, page.trans, () => void app.commands.execute(COMMANDS.showJobs));
      const isActive = () => feed.running !== null;
      bar.registerStatusItem(ID, { item, align: 'left', rank: 10, isActive, activeStateChanged: feed.runningChanged });
    }
    const key = `${ID}:${app.serviceManager.serverSettings.baseUrl}`;
    const store = new NotificationStore(localStorage, key, exclusiveBy(key));
    const notifier = new JobNotifier(app, page.trans);
    new JobNotifications(page.engine, store, notifier, notificationDelay).listen(feed);
    void app.restored.then(async () => {
      notifier.isOn = await notificationSetting(settings, isOn => (notifier.isOn = isOn));
      const error = await compatibilityError(page.engine, page.trans);
      if (error?.code === 'OtherVersion') {
        Notification.warning(`${error.message} ${error.fix}`, { autoClose: false });
      }
      feed.follow(new AbortController().signal); // As long as the page lives.
    });
  }
};

/** Return whether notifications are enabled; report changes of the setting. */
async function notificationSetting(
  registry: ISettingRegistry | null,
  changed: (isOn: boolean) => void
): Promise<boolean> {
  const settings = await pageSettings(registry);
  const isOn = () => settings?.get('notifications').composite !== false;
  settings?.changed.connect(() => changed(isOn()));
  return isOn();
}

function notificationDelay(): number {
  return document.hasFocus() ? 0 : document.visibilityState === 'visible' ? VISIBLE_DELAY : HIDDEN_DELAY;
}

/** Shows JupyterLab notifications, which display texts without markup. */
class JobNotifier implements INotifier {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly trans: TranslationBundle
  ) {}

  isOn = true;

  notifyJob(job: IJob): void {
    if (!this.isOn) {
      return;
    }
    const { trans } = this;
    const actions = [{ label: trans.__('Open'), callback: () => void this.run(COMMANDS.openJob, { id: job.id }) }];
    const name = job.name.length > MAX_NAME ? `${job.name.slice(0, MAX_NAME)}…` : job.name;
    if (job.status === 'succeeded') {
      Notification.success(trans.__('%1 succeeded.', name), { autoClose: CLOSE_AFTER, actions });
    } else if (job.status === 'stopped') {
      Notification.info(trans.__('%1 was stopped.', name), { autoClose: CLOSE_AFTER, actions });
    } else {
      const text =
        job.status === 'lost'
          ? trans.__('%1 was lost: %2', name, job.reason)
          : trans.__('%1 failed: %2', name, job.reason);
      Notification.error(text, { autoClose: false, actions });
    }
  }

  notifySummary(counts: ReadonlyMap<string, number>): void {
    if (!this.isOn) {
      return;
    }
    const { trans } = this;
    const count = (status: string) => counts.get(status) ?? 0;
    const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
    const failedCount = count('failed') + count('lost');
    const actions = [{ label: trans.__('Show jobs'), callback: () => void this.run(COMMANDS.showJobs) }];
    const text = trans.__('%1 jobs ended: %2 succeeded, %3 failed.', all, count('succeeded'), failedCount);
    Notification.emit(text, failedCount ? 'warning' : 'success', { autoClose: false, actions });
  }

  private async run(command: string, args: { id?: string } = {}): Promise<void> {
    await this.app.commands.execute(command, args);
  }
}

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
