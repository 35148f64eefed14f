/**
 * The documents that are open: which have changes that no file has yet; to save them, to go to them, to write into them.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { DocumentWidget } from '@jupyterlab/docregistry';
import { Signal } from '@lumino/signaling';

export class Documents {
  /**
   * @param renamed - told whenever an open document gets another path.
   */
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly renamed: (from: string, to: string) => void
  ) {
    app.shell.currentChanged?.connect(() => this.look());
  }

  /** Be told the paths of those with changes, now and whenever they are others, until `signal` is aborted. */
  watchUnsaved(receive: (paths: readonly string[]) => void, signal: AbortSignal): void {
    const tell = (_: this, paths: readonly string[]) => receive(paths);
    this.changed.connect(tell);
    signal.addEventListener('abort', () => this.changed.disconnect(tell), { once: true });
    this.look();
    receive(this.unsaved);
  }

  /** Write a document into its file. */
  async save(path: string): Promise<void> {
    await this.find(path)?.context.save();
  }

  /** Go to a document; whether it is open. */
  show(path: string): boolean {
    const found = this.find(path);
    if (found) {
      this.app.shell.activateById(found.id);
    }
    return found !== undefined;
  }

  /** Put a text into a new cell below the one that a notebook is at; whether it is open. */
  async insertCell(path: string, text: string): Promise<boolean> {
    if (!this.show(path)) {
      return false;
    }
    await this.app.commands.execute('notebook:insert-cell-below');
    await this.app.commands.execute('notebook:replace-selection', { text });
    return true;
  }

  private find(path: string): DocumentWidget | undefined {
    return this.open().find(widget => this.pathOf(widget) === path);
  }

  private open(): readonly DocumentWidget[] {
    return [...this.app.shell.widgets('main')].filter(widget => widget instanceof DocumentWidget);
  }

  private pathOf({ context }: DocumentWidget): string {
    return this.app.serviceManager.contents.localPath(context.path);
  }

  private look(): void {
    const open = this.open();
    for (const widget of open.filter(one => !this.known.has(one))) {
      let from = this.pathOf(widget);
      this.known.add(widget);
      widget.context.model.stateChanged.connect(() => this.look());
      widget.context.pathChanged.connect(() => {
        const to = this.pathOf(widget);
        this.renamed(from, to);
        from = to;
        this.look();
      });
      widget.disposed.connect(() => this.look());
    }
    // Of a document that is open twice, one view is enough.
    const paths = [
      ...new Set(open.filter(one => !one.isDisposed && one.context.model.dirty).map(one => this.pathOf(one)))
    ];
    if (paths.join('\n') !== this.unsaved.join('\n')) {
      this.unsaved = paths;
      this.changed.emit(paths);
    }
  }

  private readonly changed = new Signal<this, readonly string[]>(this);
  private readonly known = new WeakSet<DocumentWidget>();
  private unsaved: readonly string[] = [];
}
