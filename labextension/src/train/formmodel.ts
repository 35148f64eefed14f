/**
 * State of one train form: the draft, its preview and its validation errors.
 */

import { UUID } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { SubmitKey } from '../api/idempotency.js';
import type { IJob, Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { IDraft } from './draft.js';
import { draftOf, field, movedDraft, requestOf, withoutFile } from './draft.js';
import type { IDeclaredHyperparameter, IFormErrors, IInitialForm, IPreview } from './preview.js';
import { documentErrors, formErrorsOf, NO_ERRORS, parseDeclared, parseInitialForm, parsePreview } from './preview.js';
import type { IStage } from './submitjob.js';
import { submitJob } from './submitjob.js';

// Milliseconds. Changes within one pause cause one preview.
const PAUSE = 250;

export class TrainFormModel {
  /**
   * @param path - below the server root; empty for the root.
   */
  constructor(
    private readonly context: IContext,
    public path: string
  ) {}

  /** Stays the same when the document is renamed. */
  readonly id = UUID.uuid4();

  /** The initial form, and the current draft; null until loaded. */
  initial: IInitialForm | null = null;
  draft: IDraft | null = null;
  /** The latest preview. */
  preview: IPreview | null = null;
  declared: readonly IDeclaredHyperparameter[] = [];
  errors: IFormErrors = NO_ERRORS;
  isPreviewing = false;
  /** The current stage of a submit; null if none is active. */
  stage: IStage | null = null;

  /** Emitted when a field above changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** True if the user changed the initial draft. */
  get isChanged(): boolean {
    return this.draft !== this.initialDraft;
  }

  /** Load the initial form and the preview again; the last job or the files may have changed. */
  refresh(): Promise<void> {
    this.loading = this.load();
    return this.loading.then(() => this.updatePreview(true));
  }

  /** Read the job file again for another profile. Other changes of the user are dropped. */
  async readWith(profile: string): Promise<void> {
    const { path } = this;
    try {
      const form = parseInitialForm(await this.context.engine.call('form', { path: this.serverPath, profile }));
      if (path === this.path) {
        this.draft = null;
        this.setInitial(form);
        this.profile = profile;
        await this.updatePreview();
      }
    } catch (error) {
      this.errors = formErrorsOf(error);
    }
    this.signal.emit();
  }

  /** Replace the draft. Pending previews of earlier drafts are dropped. */
  change(draft: IDraft): void {
    this.draft = draft;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.updatePreview(), PAUSE);
    this.signal.emit();
  }

  /** Replace the draft by a request. `script_if_needed` of the form is kept if the request lacks it. */
  setRequest(request: Json): void {
    const preserved = Object.entries(this.initial?.request ?? {}).filter(([name]) => name === 'script_if_needed');
    this.change(draftOf({ ...Object.fromEntries(preserved), ...request }));
  }

  /** Remove an inline file. If it was the entry point, the default entry point is used. */
  removeFile(path: string): void {
    if (this.draft) {
      this.change(withoutFile(this.draft, path, this.defaultEntry));
    }
  }

  /** Restore the initial draft. */
  reset(): void {
    if (this.initialDraft) {
      this.change(this.initialDraft);
    }
  }

  /** Discard the settings of the last job, and all changes: the form of a first visit, with the files as they are. */
  async clear(): Promise<void> {
    this.loading = this.load();
    await this.loading;
    if (this.initial) {
      this.change(draftOf(this.initial.defaults));
    }
  }

  /**
   * Submit the draft; null if the user declined or there are errors.
   *
   * @param isAnyway - submit although the script will reject its hyperparameters or arguments.
   */
  async submit(isAnyway = false): Promise<IJob | null> {
    await this.loading;
    if (!this.draft) {
      await this.load(); // Loading failed before.
    }
    const draft = this.draft;
    const job = draft && (await this.send({ ...requestOf(draft), ...(isAnyway ? { anyway: true } : {}) }));
    if (job && draft === this.draft) {
      this.initialDraft = draft; // The submitted draft is the new initial one.
      this.signal.emit();
    }
    return job;
  }

  /** Submit the last job again; undefined if there is none. */
  async submitAgain(): Promise<IJob | null | undefined> {
    const form = parseInitialForm(await this.context.engine.call('form', { path: this.serverPath }));
    return form.last ? this.send(form.request) : undefined;
  }

  /** Cancel an active submit. */
  cancel(): void {
    this.controller.abort();
  }

  private async send(request: Json): Promise<IJob | null> {
    if (this.stage) {
      return null;
    }
    this.controller = new AbortController();
    this.setStage({ name: 'checking' });
    try {
      const { signal } = this.controller;
      await this.saveDocuments();
      const setStage = (stage: IStage) => this.setStage(stage);
      const job = await this.key.use(request, key => submitJob(this.context, request, key, setStage, signal));
      this.errors = job ? NO_ERRORS : this.errors;
      return job;
    } catch (error) {
      this.errors = formErrorsOf(error);
      return null;
    } finally {
      this.setStage(null);
    }
  }

  /** Save the unsaved documents of the folder, since files are read from disk. */
  private async saveDocuments(): Promise<void> {
    const { host, trans } = this.context;
    const unsaved = this.unsaved;
    if (unsaved.length && host.save) {
      this.setStage({ name: 'saving' });
      for (const path of unsaved) {
        await host.save(path);
      }
      host.notify(trans.__('Saved %1', unsaved.join(', ')), 'info');
    }
  }

  /** The paths of unsaved open documents in the folder. */
  get unsaved(): readonly string[] {
    let unsaved: readonly string[] = [];
    const controller = new AbortController();
    this.context.host.watchUnsaved?.(paths => (unsaved = paths), controller.signal);
    controller.abort();
    return unsaved.filter(path => path.startsWith(this.folder));
  }

  /** The folder of code below the server's root, with a slash; empty for the root and for folders above it. */
  private get folder(): string {
    if (this.initial?.kind === 'folder') {
      return this.path && `${this.path}/`;
    }
    const { path } = this;
    const entries = [this.draft ? string(field(this.draft, 'entry_point')) : '', this.defaultEntry];
    const isEnd = (end: string, text: string) => end !== '' && `/${text}`.endsWith(`/${end}`);
    const entry = entries.find(name => isEnd(name, path) || isEnd(path, name)) ?? path.slice(path.lastIndexOf('/') + 1);
    return path.slice(0, Math.max(path.length - entry.length, 0));
  }

  /** Load the initial form. Changes of the user are kept and follow a renamed document. */
  private async load(): Promise<void> {
    const { engine } = this.context;
    const { path } = this;
    try {
      const { profile } = this;
      const parameters = { path: this.serverPath, ...(profile && { profile }) };
      const form = parseInitialForm(await engine.call('form', parameters));
      if (path === this.path) {
        this.setInitial(form);
      }
    } catch (error) {
      this.errors = path === this.path ? formErrorsOf(error) : this.errors;
    }
    this.signal.emit();
  }

  private setInitial(form: IInitialForm): void {
    const start = draftOf(form.request);
    if (this.draft && this.initial && this.isChanged) {
      this.draft = movedDraft(this.draft, this.initial.defaults, form.defaults);
    } else {
      this.draft = start;
      this.errors = NO_ERRORS;
    }
    [this.initialDraft, this.initial] = [start, form];
  }

  /**
   * Fetch previews, one at a time; outdated responses are dropped.
   *
   * @param isFirst - fetch a quick preview first, without a scan for secrets.
   */
  private async updatePreview(isFirst = false): Promise<void> {
    if (!this.draft || this.isPreviewing) {
      this.isStale = this.isPreviewing;
      return;
    }
    this.isPreviewing = true;
    this.signal.emit();
    const fetchAndApply = async (draft: IDraft, isQuick: boolean) => {
      const apply = await this.fetchPreview(requestOf(draft), isQuick);
      if (draft === this.draft) {
        apply();
      }
    };
    if (isFirst) {
      await fetchAndApply(this.draft, true);
      this.signal.emit();
    }
    this.isStale = false;
    for (let draft: IDraft | null = this.draft; draft; draft = this.takeStaleDraft()) {
      await fetchAndApply(draft, false);
    }
    this.isPreviewing = false;
    this.signal.emit();
  }

  /** Return the draft if it changed during the last preview. */
  private takeStaleDraft(): IDraft | null {
    const draft = this.isStale ? this.draft : null;
    this.isStale = false;
    return draft;
  }

  /** Fetch the preview of a request; return a function that applies the response. */
  private async fetchPreview(request: Json, isQuick: boolean): Promise<() => void> {
    const { engine } = this.context;
    try {
      const response = await engine.call('preview', { quick: isQuick }, request);
      return () => {
        const preview = parsePreview(response);
        this.preview = { ...preview, secrets: preview.secrets ?? this.preview?.secrets ?? null };
        this.declared = parseDeclared(response);
        // A quick preview does not scan for secrets; keep those found before.
        this.errors = isQuick && this.errors.secrets.length ? this.errors : documentErrors(preview);
      };
    } catch (error) {
      // The declared hyperparameters may be available although the preview failed.
      const response = await engine.call('inspect', {}, request).catch(() => null);
      return () => {
        this.errors = formErrorsOf(error);
        // They are those of an earlier request, which may have other instances.
        this.preview = this.preview && { ...this.preview, cost: '', questions: [] };
        this.declared = response === null ? this.declared : parseDeclared(response);
      };
    }
  }

  private setStage(stage: IStage | null): void {
    this.stage = stage;
    this.signal.emit();
  }

  /** The default entry point. */
  private get defaultEntry(): string {
    return string(record(this.initial?.defaults['spec'])['entry_point']);
  }

  /** The path for the server: empty parameters would be left out of the URL. */
  private get serverPath(): string {
    return this.path || '.';
  }

  private readonly signal = new Signal<this, void>(this);
  private initialDraft: IDraft | null = null;
  /** The profile that a job file was read for; empty for the default one. */
  private profile = '';
  private loading: Promise<void> = Promise.resolve();
  private readonly key = new SubmitKey();
  private isStale = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private controller = new AbortController();
}
