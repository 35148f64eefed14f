/**
 * What the Train panel is about: the notebook that the user is in, or what was chosen; and what there is to train on.
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

  /** What is in front; null while there is nothing to train. */
  desk: Desk | null = null;
  platforms: IPlatforms = NO_PLATFORMS;

  /** Something above, or of the desk in front, has changed. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Go with the user from notebook to notebook, until `signal` is aborted. */
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
        void this.desk?.refresh(); // There is something new in a file.
      }
    };
    this.context.host.watchUnsaved?.(saved, signal);
  }

  /** Whether somebody looks: only then is anything asked, and each time anew. */
  set isSeen(isSeen: boolean) {
    const isNew = isSeen && !this.seen;
    this.seen = isSeen;
    if (isNew) {
      void this.refresh();
    }
  }

  /** Bring a notebook, a script or a folder to the front, as it was left. */
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

  /** Bring something to the front, with a whole request in its form if one is given. */
  async open(path: string, request?: Json): Promise<void> {
    this.turn(path);
    if (request) {
      await this.desk?.refresh();
      this.desk?.put(request);
    }
  }

  /** Submit once more what was submitted last of a path; whether anything was. */
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

  /** Submit what is in front, and show its job. */
  async submit(): Promise<IJob | null> {
    const desk = this.desk;
    const job = (await desk?.submit()) ?? null;
    if (job && desk) {
      this.settle(desk, job);
    }
    return job;
  }

  /**
   * Make data an input of what is in front.
   *
   * @param profile - in whose account it is; empty if it needs none. The job goes with it, if none was chosen for it.
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

  /** Look anew at everything that is shown. */
  async refresh(): Promise<void> {
    const refreshed = this.desk?.refresh();
    this.begin();
    await this.learn();
    await refreshed;
  }

  /** Ask what there is to train on. */
  private async learn(): Promise<void> {
    const { engine } = this.context;
    const [backends, profiles] = await Promise.all(
      (['backends', 'profiles'] as const).map(verb => engine.call(verb).catch(() => null))
    );
    this.platforms = parsePlatforms(backends, profiles);
    this.signal.emit();
  }

  /** The draft with the profile that reads its data, where none was chosen; else it is said that another one reads it. */
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

  /** Where nobody has chosen anything: the notebook, else the folder that the user is in, wherever he goes. */
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

  /** What was typed goes along with a document that gets another path. */
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

  /** The desk of a path, of which `.` is the root as well. */
  private deskOf(named: string): Desk {
    const path = named === '.' ? '' : named;
    const known = this.desks.get(path) ?? new Desk(this.context, path);
    this.desks.set(path, known);
    return known;
  }

  /** Show the job; its settings are what the form begins with from now on. */
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
