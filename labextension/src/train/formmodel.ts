/**
 * State of one train form: the draft, its preview and its validation errors.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { UUID } from '@lumino/coreutils';

import { SubmitKey } from '../api/idempotency.js';
import type { IJob, Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { IDraft } from './draft.js';
import { bare, draftOf, moved, requestOf, withoutFile } from './draft.js';
import type { IDeclared, IForm, IPreview, IWrong } from './preview.js';
import { NOTHING_WRONG, parseDeclared, parseForm, parsePreview, wrongOf } from './preview.js';
import type { IStage } from './submitjob.js';
import { launch } from './submitjob.js';

// Milliseconds. Changes within one pause cause one preview.
const PAUSE = 250;

export class Desk {
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
  form: IForm | null = null;
  draft: IDraft | null = null;
  /** The latest preview. */
  preview: IPreview | null = null;
  declared: readonly IDeclared[] = [];
  wrong: IWrong = NOTHING_WRONG;
  isLooking = false;
  /** The current stage of a submit; null if none is active. */
  stage: IStage | null = null;

  /** Emitted when a field above changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Whether the user changed the initial draft. */
  get isChanged(): boolean {
    return this.draft !== this.start;
  }

  /** Load the initial form and the preview again; the last job or the files may have changed. */
  refresh(): Promise<void> {
    this.loading = this.load();
    return this.loading.then(() => this.look(true));
  }

  /** Replace the draft. Pending previews of earlier drafts are dropped. */
  change(draft: IDraft): void {
    this.draft = draft;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), PAUSE);
    this.signal.emit();
  }

  /** Replace the draft by a request. `script_if_needed` of the form is kept if the request lacks it. */
  put(request: Json): void {
    const kept = Object.entries(this.form?.request ?? {}).filter(([name]) => name === 'script_if_needed');
    this.change(draftOf({ ...Object.fromEntries(kept), ...request }));
  }

  /** Remove an inline file. If it was the entry point, the default entry point is used. */
  uncover(path: string): void {
    if (this.draft) {
      this.change(withoutFile(this.draft, path, this.entry));
    }
  }

  /** Restore the initial draft. */
  reset(): void {
    if (this.start) {
      this.change(this.start);
    }
  }

  /** Discard the settings of the last job. */
  clear(): void {
    if (this.form) {
      this.put(bare(this.form.request, this.entry));
    }
  }

  /** Submit the draft; null if the user declined or there are errors. */
  async submit(): Promise<IJob | null> {
    await this.loading;
    if (!this.draft) {
      await this.load(); // Loading failed before.
    }
    const draft = this.draft;
    const job = draft && (await this.send(requestOf(draft)));
    if (job && draft === this.draft) {
      this.start = draft; // The submitted draft is the new initial one.
      this.signal.emit();
    }
    return job;
  }

  /** Submit the last job again; undefined if there is none. */
  async again(): Promise<IJob | null | undefined> {
    const form = parseForm(await this.context.engine.call('form', { path: this.place }));
    return form.last ? this.send(form.request) : undefined;
  }

  /** Cancel an active submit. */
  cancel(): void {
    this.life.abort();
  }

  private async send(request: Json): Promise<IJob | null> {
    if (this.stage) {
      return null;
    }
    this.life = new AbortController();
    this.tell({ what: 'checking' });
    try {
      const { signal } = this.life;
      await this.save();
      const tell = (stage: IStage) => this.tell(stage);
      const job = await this.key.use(request, key => launch(this.context, request, key, tell, signal));
      this.wrong = job ? NOTHING_WRONG : this.wrong;
      return job;
    } catch (error) {
      this.wrong = wrongOf(error);
      return null;
    } finally {
      this.tell(null);
    }
  }

  /** Save the unsaved documents of the folder, since files are read from disk. */
  private async save(): Promise<void> {
    const { host, trans } = this.context;
    const mine = this.unsaved;
    if (mine.length && host.save) {
      this.tell({ what: 'saving' });
      for (const path of mine) {
        await host.save(path);
      }
      host.notify(trans.__('Saved %1', mine.join(', ')), 'info');
    }
  }

  /** The paths of unsaved open documents in the folder. */
  get unsaved(): readonly string[] {
    let found: readonly string[] = [];
    const life = new AbortController();
    this.context.host.watchUnsaved?.(paths => (found = paths), life.signal);
    life.abort();
    const folder = this.form?.kind === 'folder' ? this.path : this.path.slice(0, this.path.lastIndexOf('/') + 1);
    const base = folder && !folder.endsWith('/') ? `${folder}/` : folder;
    return found.filter(path => path.startsWith(base));
  }

  /** Load the initial form. Changes of the user are kept and follow a renamed document. */
  private async load(): Promise<void> {
    const { engine } = this.context;
    const { path } = this;
    try {
      const form = parseForm(await engine.call('form', { path: this.place }));
      if (path === this.path) {
        this.begin(form, path.slice(path.lastIndexOf('/') + 1));
      }
    } catch (error) {
      this.wrong = path === this.path ? wrongOf(error) : this.wrong;
    }
    this.signal.emit();
  }

  private begin(form: IForm, name: string): void {
    const start = draftOf(form.request);
    if (this.draft && this.form && this.isChanged) {
      this.draft = moved(this.draft, bare(this.form.request, this.name), bare(form.request, name));
    } else {
      this.draft = start;
      this.wrong = NOTHING_WRONG;
    }
    [this.start, this.form, this.name] = [start, form, name];
  }

  /**
   * Fetch previews, one at a time; outdated responses are dropped.
   *
   * @param isFirst - fetch a quick preview first, without a scan for secrets.
   */
  private async look(isFirst = false): Promise<void> {
    if (!this.draft || this.isLooking) {
      this.isStale = this.isLooking;
      return;
    }
    this.isLooking = true;
    this.signal.emit();
    const answer = async (draft: IDraft, isQuick: boolean) => {
      const take = await this.ask(requestOf(draft), isQuick);
      if (draft === this.draft) {
        take();
      }
    };
    if (isFirst) {
      await answer(this.draft, true);
      this.signal.emit();
    }
    this.isStale = false;
    for (let draft: IDraft | null = this.draft; draft; draft = this.stale()) {
      await answer(draft, false);
    }
    this.isLooking = false;
    this.signal.emit();
  }

  /** Return the draft if it changed during the last preview. */
  private stale(): IDraft | null {
    const draft = this.isStale ? this.draft : null;
    this.isStale = false;
    return draft;
  }

  /** Fetch the preview of a request; return a function that applies the response. */
  private async ask(request: Json, isQuick: boolean): Promise<() => void> {
    const { engine } = this.context;
    try {
      const found = await engine.call('preview', { quick: isQuick }, request);
      return () => {
        const preview = parsePreview(found);
        this.preview = { ...preview, leaks: preview.leaks ?? this.preview?.leaks ?? null };
        this.declared = parseDeclared(found);
        // A quick preview does not scan for secrets; keep those found before.
        this.wrong = isQuick && this.wrong.leaks.length ? this.wrong : NOTHING_WRONG;
      };
    } catch (error) {
      // The declared hyperparameters may be available although the preview failed.
      const found = await engine.call('inspect', {}, request).catch(() => null);
      return () => {
        this.wrong = wrongOf(error);
        this.declared = found === null ? this.declared : parseDeclared(found);
      };
    }
  }

  private tell(stage: IStage | null): void {
    this.stage = stage;
    this.signal.emit();
  }

  /** The default entry point. */
  private get entry(): string {
    const { kind = '', request = {} } = this.form ?? {};
    return kind === 'folder' ? string(record(request['spec'])['entry_point']) : this.name;
  }

  /** The path for the server: empty parameters would be left out of the URL. */
  private get place(): string {
    return this.path || '.';
  }

  private readonly signal = new Signal<this, void>(this);
  private start: IDraft | null = null;
  /** The file name when the form was loaded. */
  private name = '';
  private loading: Promise<void> = Promise.resolve();
  private readonly key = new SubmitKey();
  private isStale = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private life = new AbortController();
}
