/**
 * The open documents: list unsaved ones, save them, activate them, insert cells.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { DocumentWidget } from '@jupyterlab/docregistry';
import { Signal } from '@lumino/signaling';

export class Documents {
  /**
   * @param renamed - called when the path of an open document changes.
   */
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly renamed: (from: string, to: string) => void
  ) {
    app.shell.currentChanged?.connect(() => this.update());
  }

  /** Report the paths of unsaved documents, now and on every change, until `signal` is aborted. */
  watchUnsaved(receive: (paths: readonly string[]) => void, signal: AbortSignal): void {
    const slot = (_: this, paths: readonly string[]) => receive(paths);
    this.changed.connect(slot);
    signal.addEventListener('abort', () => this.changed.disconnect(slot), { once: true });
    this.update();
    receive(this.unsaved);
  }

  /** Save a document. */
  async save(path: string): Promise<void> {
    await this.find(path)?.context.save();
  }

  /** Activate a document; return whether it is open. */
  show(path: string): boolean {
    const widget = this.find(path);
    if (widget) {
      this.app.shell.activateById(widget.id);
    }
    return widget !== undefined;
  }

  /** Insert a text as a new cell below the active cell of a notebook; return whether the notebook is open. */
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

  private update(): void {
    const open = this.open();
    for (const widget of open.filter(opened => !this.known.has(opened))) {
      let from = this.pathOf(widget);
      this.known.add(widget);
      widget.context.model.stateChanged.connect(() => this.update());
      widget.context.pathChanged.connect(() => {
        const to = this.pathOf(widget);
        this.renamed(from, to);
        from = to;
        this.update();
      });
      widget.disposed.connect(() => this.update());
    }
    // A document may be open in several widgets.
    const paths = [
      ...new Set(
        open.filter(widget => !widget.isDisposed && widget.context.model.dirty).map(widget => this.pathOf(widget))
      )
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
