/**
 * The form of one notebook, script or folder: what stands in it, and what the engine says of that.
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

// Milliseconds: what is typed within one pause is looked at together.
const PAUSE = 250;

export class Desk {
  /**
   * @param path - below the server's root; empty for the root itself.
   */
  constructor(
    private readonly context: IContext,
    public path: string
  ) {}

  /** Stays the same when the path becomes another. */
  readonly id = UUID.uuid4();

  /** How the form begins, and what stands in it now; null before that is known. */
  form: IForm | null = null;
  draft: IDraft | null = null;
  /** What would be sent, as far as was told last. */
  preview: IPreview | null = null;
  declared: readonly IDeclared[] = [];
  wrong: IWrong = NOTHING_WRONG;
  isLooking = false;
  /** What is being done for a submit; null while nothing is. */
  stage: IStage | null = null;

  /** Something above has changed. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Whether the user has changed what it began with. */
  get isChanged(): boolean {
    return this.draft !== this.start;
  }

  /** What to show when it comes to the front: what was submitted meanwhile, and files as they are now. */
  refresh(): Promise<void> {
    this.loading = this.load();
    return this.loading.then(() => this.look(true));
  }

  /** Put something else into the form. What the user typed before is looked at no more. */
  change(draft: IDraft): void {
    this.draft = draft;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), PAUSE);
    this.signal.emit();
  }

  /** Put a whole request into the form. Where it does not say whether a notebook may go as a script, that stays. */
  put(request: Json): void {
    const kept = Object.entries(this.form?.request ?? {}).filter(([name]) => name === 'script_if_needed');
    this.change(draftOf({ ...Object.fromEntries(kept), ...request }));
  }

  /** Take a file away that is laid over the folder. If it is what runs, the form's own runs again. */
  uncover(path: string): void {
    if (this.draft) {
      this.change(withoutFile(this.draft, path, this.entry));
    }
  }

  /** Go back to what the form began with. */
  reset(): void {
    if (this.start) {
      this.change(this.start);
    }
  }

  /** Begin as if nothing had been submitted before. */
  clear(): void {
    if (this.form) {
      this.put(bare(this.form.request, this.entry));
    }
  }

  /** Submit what stands in the form; null where the user did not want to, or something is wrong. */
  async submit(): Promise<IJob | null> {
    await this.loading;
    if (!this.draft) {
      await this.load(); // It could not be told how it begins.
    }
    const draft = this.draft;
    const job = draft && (await this.send(requestOf(draft)));
    if (job && draft === this.draft) {
      this.start = draft; // What was submitted is what the form begins with now.
      this.signal.emit();
    }
    return job;
  }

  /** Submit once more what was submitted last; undefined if nothing was. */
  async again(): Promise<IJob | null | undefined> {
    const form = parseForm(await this.context.engine.call('form', { path: this.place }));
    return form.last ? this.send(form.request) : undefined;
  }

  /** End a submit that is not through yet. */
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

  /** The documents of the folder that have changes: files are sent as they are on the disk. */
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

  /** The paths of open documents with changes that belong to what is sent. */
  get unsaved(): readonly string[] {
    let found: readonly string[] = [];
    const life = new AbortController();
    this.context.host.watchUnsaved?.(paths => (found = paths), life.signal);
    life.abort();
    const folder = this.form?.kind === 'folder' ? this.path : this.path.slice(0, this.path.lastIndexOf('/') + 1);
    const base = folder && !folder.endsWith('/') ? `${folder}/` : folder;
    return found.filter(path => path.startsWith(base));
  }

  /** Ask how the form begins now. What the user has typed stays; it goes along with what it is about. */
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
   * Ask what would be sent, one question at a time; an answer to what stands there no more is dropped.
   *
   * @param isFirst - tell what there is before anybody has looked for keys in it.
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

  /** The draft that is to be looked at once more, if there is one. */
  private stale(): IDraft | null {
    const draft = this.isStale ? this.draft : null;
    this.isStale = false;
    return draft;
  }

  /** Ask about a request; what takes the answer. */
  private async ask(request: Json, isQuick: boolean): Promise<() => void> {
    const { engine } = this.context;
    try {
      const found = await engine.call('preview', { quick: isQuick }, request);
      return () => {
        const preview = parsePreview(found);
        this.preview = { ...preview, leaks: preview.leaks ?? this.preview?.leaks ?? null };
        this.declared = parseDeclared(found);
        // Keys that were found are not looked for again by a quick look.
        this.wrong = isQuick && this.wrong.leaks.length ? this.wrong : NOTHING_WRONG;
      };
    } catch (error) {
      // What the code declares can be told all the same.
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

  /** What runs if nobody chooses. */
  private get entry(): string {
    const { kind = '', request = {} } = this.form ?? {};
    return kind === 'folder' ? string(record(request['spec'])['entry_point']) : this.name;
  }

  /** The path as the server takes it: an empty one would be left out of the address. */
  private get place(): string {
    return this.path || '.';
  }

  private readonly signal = new Signal<this, void>(this);
  private start: IDraft | null = null;
  /** How the file was called when its form was fetched. */
  private name = '';
  private loading: Promise<void> = Promise.resolve();
  private readonly key = new SubmitKey();
  private isStale = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private life = new AbortController();
}
