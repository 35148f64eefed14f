/**
 * Model of the Train panel: the active form, and the available platforms.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IJob, Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { IPlatforms } from './compute/platforms.js';
import { NO_PLATFORMS, parsePlatforms, profileOf, readerOf } from './compute/platforms.js';
import type { IDraft } from './draft.js';
import { channelFor, field, withField } from './draft.js';
import { Desk } from './formmodel.js';
import { wrongOf } from './preview.js';

export class TrainModel {
  constructor(private readonly context: IContext) {}

  /** The active form; null if there is nothing to train. */
  desk: Desk | null = null;
  platforms: IPlatforms = NO_PLATFORMS;

  /** Emitted when a field above, or the active form, changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Follow the current notebook until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    this.context.host.watchRenamed?.((from, to) => this.rename(from, to), signal);
    this.context.host.watchNotebook?.(path => path && this.turn(path), signal);
    this.context.host.watchFolder?.(path => this.takesFolder && this.fall(path), signal);
    let count = 0;
    const saved = (paths: readonly string[]) => {
      const isFewer = paths.length < count;
      count = paths.length;
      this.signal.emit();
      if (isFewer && this.seen) {
        void this.desk?.refresh(); // A file was saved.
      }
    };
    this.context.host.watchUnsaved?.(saved, signal);
  }

  /** Whether the panel is visible. Requests are made only while it is, and again each time it becomes visible. */
  set isSeen(isSeen: boolean) {
    const isNew = isSeen && !this.seen;
    this.seen = isSeen;
    if (isNew) {
      void this.refresh();
    }
  }

  /** Show the form of a notebook, script or folder, as it was left. */
  turn(path: string): void {
    this.takesFolder = false;
    const desk = this.deskOf(path);
    if (desk === this.desk) {
      return;
    }
    this.desk?.changed.disconnect(this.pass);
    this.desk = desk;
    this.desk.changed.connect(this.pass);
    this.signal.emit();
    if (this.seen) {
      void this.desk.refresh();
    }
  }

  /** Show the form of a path, and fill in a request if given. */
  async open(path: string, request?: Json): Promise<void> {
    this.turn(path);
    if (request) {
      await this.desk?.refresh();
      this.desk?.put(request);
    }
  }

  /** Submit the last job of a path again; return whether there was one. */
  async again(path: string): Promise<boolean> {
    const { host } = this.context;
    const desk = this.deskOf(path);
    try {
      const job = await desk.again();
      if (desk.wrong.trouble ?? desk.wrong.faults.size) {
        this.complain(desk);
      }
      if (job) {
        this.settle(desk, job);
      }
      return job !== undefined;
    } catch (error) {
      const { trouble } = wrongOf(error);
      host.notify([trouble?.message, trouble?.fix].filter(Boolean).join(' '), 'error');
      return true;
    }
  }

  /** Submit the active form, and open its job. */
  async submit(): Promise<IJob | null> {
    const desk = this.desk;
    const job = (await desk?.submit()) ?? null;
    if (job && desk) {
      this.settle(desk, job);
    }
    return job;
  }

  /**
   * Add data as an input of the active form.
   *
   * @param profile - the profile whose account owns the data; empty if none is needed. Selected for the job unless the
   * user selected one.
   */
  async useInput(uri: string, profile = ''): Promise<void> {
    this.begin();
    const desk = this.desk;
    if (desk && !desk.draft) {
      await desk.refresh();
    }
    if (profile && this.platforms === NO_PLATFORMS) {
      await this.learn();
    }
    if (desk?.draft) {
      const inputs = record(field(desk.draft, 'inputs'));
      const draft = this.withAccount(desk.draft, profile);
      desk.change(withField(draft, 'inputs', { ...inputs, [channelFor(draft, uri)]: uri }));
    }
  }

  /** Reload everything that is shown. */
  async refresh(): Promise<void> {
    const refreshed = this.desk?.refresh();
    this.begin();
    await this.learn();
    await refreshed;
  }

  /** Load the platforms. */
  private async learn(): Promise<void> {
    const { engine } = this.context;
    const [backends, profiles] = await Promise.all(
      (['backends', 'profiles'] as const).map(verb => engine.call(verb).catch(() => null))
    );
    this.platforms = parsePlatforms(backends, profiles);
    this.signal.emit();
  }

  /**
   * Return the draft with the profile that can read the data, unless one was selected; else warn if another account
   * reads it.
   */
  private withAccount(draft: IDraft, profile: string): IDraft {
    const { platforms, context } = this;
    const { host, trans } = context;
    const asked = string(field(draft, 'profile'));
    const goes = profileOf(platforms, asked, string(draft.rest['backend']));
    const owner = platforms.profiles.find(one => one.name === profile);
    const reader = goes && owner && readerOf(platforms, goes, owner);
    if (!reader || reader === owner) {
      return draft;
    }
    if (!asked && reader === goes) {
      return withField(draft, 'profile', profile);
    }
    const text = trans.__(
      'This data belongs to the account of %1; the job reads it with the account of %2.',
      profile,
      reader.name
    );
    host.notify(`${text} ${trans.__('If access is denied, select profile %1.', profile)}`, 'warning');
    return draft;
  }

  /** Select the initial form: the current notebook, else the current folder, which is followed. */
  private begin(): void {
    const { host } = this.context;
    const notebook = host.notebook?.() ?? '';
    if (this.desk) {
      return;
    }
    if (notebook) {
      this.turn(notebook);
    } else {
      this.fall(host.folder?.() ?? '');
    }
  }

  /** Keep the form of a renamed document. */
  private rename(from: string, to: string): void {
    const desk = this.desks.get(from);
    if (!desk) {
      return;
    }
    this.desks.delete(from);
    this.desks.set(to, desk);
    desk.path = to;
    this.signal.emit();
    if (this.seen && desk === this.desk) {
      void desk.refresh();
    }
  }

  private fall(folder: string): void {
    this.turn(folder);
    this.takesFolder = true;
  }

  /** Return the form of a path; `.` is the root. */
  private deskOf(named: string): Desk {
    const path = named === '.' ? '' : named;
    const known = this.desks.get(path) ?? new Desk(this.context, path);
    this.desks.set(path, known);
    return known;
  }

  /** Open the submitted job, and load its settings as the initial ones. */
  private settle(desk: Desk, job: IJob): void {
    this.context.host.openJob?.(job.id, desk.path);
    if (this.seen && desk === this.desk) {
      void desk.refresh();
    }
  }

  private complain({ wrong: { trouble, faults } }: Desk): void {
    const text = [trouble?.message, trouble?.fix, ...faults.values()].filter(Boolean).join(' ');
    this.context.host.notify(text, 'error');
  }

  private readonly pass = (): void => this.signal.emit();
  private readonly signal = new Signal<this, void>(this);
  private readonly desks = new Map<string, Desk>();
  private seen = false;
  private takesFolder = false;
}
