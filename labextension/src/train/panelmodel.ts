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
import { channelNameFor, field, withField } from './draft.js';
import { TrainFormModel } from './formmodel.js';
import { formErrorsOf } from './preview.js';

export class TrainPanelModel {
  constructor(private readonly context: IContext) {}

  /** The active form; null if there is nothing to train. */
  form: TrainFormModel | null = null;
  platforms: IPlatforms = NO_PLATFORMS;

  /** Emitted when a field above, or the active form, changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Follow the current document until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    this.context.host.watchRenamed?.((from, to) => this.rename(from, to), signal);
    this.context.host.watchDocument?.(path => path && this.activate(path), signal);
    this.context.host.watchFolder?.(path => this.isFollowingFolder && this.followFolder(path), signal);
    let count = 0;
    const onUnsavedChanged = (paths: readonly string[]) => {
      const isFewer = paths.length < count;
      count = paths.length;
      this.signal.emit();
      if (isFewer && this.visible) {
        void this.form?.refresh(); // A file was saved.
      }
    };
    this.context.host.watchUnsaved?.(onUnsavedChanged, signal);
  }

  /** True if the panel is visible. Requests are made only while it is, and again each time it becomes visible. */
  set isVisible(isVisible: boolean) {
    const isNew = isVisible && !this.visible;
    this.visible = isVisible;
    if (isNew) {
      void this.refresh();
    }
  }

  /** Show the form of a notebook, script or folder, as it was left. */
  activate(path: string): void {
    this.isFollowingFolder = false;
    const form = this.formOf(path);
    if (form === this.form) {
      return;
    }
    this.form?.changed.disconnect(this.emitChanged);
    this.form = form;
    this.form.changed.connect(this.emitChanged);
    this.signal.emit();
    if (this.visible) {
      void this.form.refresh();
    }
  }

  /** Show the form of a path, and fill in a request if given. */
  async open(path: string, request?: Json): Promise<void> {
    this.activate(path);
    if (request) {
      await this.form?.refresh();
      this.form?.setRequest(request);
    }
  }

  /** Submit the last job of a path again; return whether there was one. */
  async submitAgain(path: string): Promise<boolean> {
    const { host } = this.context;
    const form = this.formOf(path);
    try {
      const job = await form.submitAgain();
      if (form.errors.message ?? form.errors.fields.size) {
        this.notifyErrors(form);
      }
      if (job) {
        this.showJob(form, job);
      }
      return job !== undefined;
    } catch (reason) {
      const { message } = formErrorsOf(reason);
      host.notify([message?.message, message?.fix].filter(Boolean).join(' '), 'error');
      return true;
    }
  }

  /** Submit the active form, and open its job. `isAnyway`: see `TrainFormModel.submit`. */
  async submit(isAnyway = false): Promise<IJob | null> {
    const form = this.form;
    const job = (await form?.submit(isAnyway)) ?? null;
    if (job && form) {
      this.showJob(form, job);
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
    this.activateDefault();
    const form = this.form;
    if (form && !form.draft) {
      await form.refresh();
    }
    if (profile && this.platforms === NO_PLATFORMS) {
      await this.loadPlatforms();
    }
    if (form?.draft) {
      const inputs = record(field(form.draft, 'inputs'));
      const draft = this.withAccount(form.draft, profile);
      form.change(withField(draft, 'inputs', { ...inputs, [channelNameFor(draft, uri)]: uri }));
    }
  }

  /** Reload everything that is shown. */
  async refresh(): Promise<void> {
    const refreshing = this.form?.refresh();
    this.activateDefault();
    await this.loadPlatforms();
    await refreshing;
  }

  /** Load the platforms. */
  private async loadPlatforms(): Promise<void> {
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
    const requested = string(field(draft, 'profile'));
    const jobProfile = profileOf(platforms, requested, string(draft.rest['backend']));
    const owner = platforms.profiles.find(candidate => candidate.name === profile);
    const reader = jobProfile && owner && readerOf(platforms, jobProfile, owner);
    if (!reader || reader === owner) {
      return draft;
    }
    if (!requested && reader === jobProfile) {
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

  /** Select the initial form: the current document, else the current folder, which is followed. */
  private activateDefault(): void {
    const { host } = this.context;
    const path = host.document?.() ?? '';
    if (this.form) {
      return;
    }
    if (path) {
      this.activate(path);
    } else {
      this.followFolder(host.folder?.() ?? '');
    }
  }

  /** Keep the form of a renamed document. */
  private rename(from: string, to: string): void {
    const form = this.forms.get(from);
    if (!form) {
      return;
    }
    this.forms.delete(from);
    this.forms.set(to, form);
    form.path = to;
    this.signal.emit();
    if (this.visible && form === this.form) {
      void form.refresh();
    }
  }

  private followFolder(folder: string): void {
    this.activate(folder);
    this.isFollowingFolder = true;
  }

  /** Return the form of a path; `.` is the root. */
  private formOf(name: string): TrainFormModel {
    const path = name === '.' ? '' : name;
    const form = this.forms.get(path) ?? new TrainFormModel(this.context, path);
    this.forms.set(path, form);
    return form;
  }

  /** Open the submitted job, and load its settings as the initial ones. */
  private showJob(form: TrainFormModel, job: IJob): void {
    this.context.host.openJob?.(job.id, form.path);
    if (this.visible && form === this.form) {
      void form.refresh();
    }
  }

  private notifyErrors({ errors: { message: error, fields: errors } }: TrainFormModel): void {
    const text = [error?.message, error?.fix, ...errors.values()].filter(Boolean).join(' ');
    this.context.host.notify(text, 'error');
  }

  private readonly emitChanged = (): void => this.signal.emit();
  private readonly signal = new Signal<this, void>(this);
  private readonly forms = new Map<string, TrainFormModel>();
  private visible = false;
  private isFollowingFolder = false;
}
