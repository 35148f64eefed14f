/**
 * JupyterLab and Notebook 7 as the environment of a view.
 */

import type { ILabShell, JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, InputDialog, MainAreaWidget, Notification } from '@jupyterlab/apputils';
import { DocumentWidget } from '@jupyterlab/docregistry';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { TranslationBundle } from '@jupyterlab/translation';
import { IFrame } from '@jupyterlab/ui-components';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { COMMANDS } from './commandids.js';
import { canTrain } from './contextitem.js';
import { Documents } from './documents.js';
import type { IHost, IProfilesTarget, IQuestion } from './host.js';
import { jobsIcon } from './icons.js';

export class LabHost implements IHost {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly trans: TranslationBundle,
    private readonly lang: string,
    shell: ILabShell | null = null,
    private readonly files: IDefaultFileBrowser | null = null
  ) {
    app.shell.currentChanged?.connect(() => this.update());
    this.documents = new Documents(app, (from, to) => this.handleRename(from, to));
    // Notebook 7 opens one document per window and has no area for other pages.
    if (shell) {
      this.openPage = (title, address) => this.showPage(shell, title, address);
      if (app.serviceManager.terminals.isAvailable()) {
        this.openTerminal = line => this.runInTerminal(line);
      }
    }
  }

  readonly openPage?: (title: string, address: string) => void;
  readonly openTerminal?: (line: string) => Promise<void>;

  async confirm({ title, text, yes, warn }: IQuestion): Promise<boolean> {
    const accept = warn ? Dialog.warnButton({ label: yes }) : Dialog.okButton({ label: yes });
    const buttons = [Dialog.cancelButton({ label: this.trans.__('Cancel') }), accept];
    const body = new Widget();
    body.addClass('jp-pai-Question');
    body.node.textContent = text;
    // Enter must not confirm what cannot be undone.
    const dialog = new Dialog({ title, body, buttons, defaultButton: warn ? 0 : 1 });
    dialog.node.lang = this.lang;
    return (await dialog.launch()).button.accept;
  }

  async askText(title: string, label: string, text: string): Promise<string | null> {
    return (await InputDialog.getText({ title, label, text })).value;
  }

  notify(text: string, kind: 'info' | 'success' | 'warning' | 'error'): void {
    Notification.emit(text, kind, { autoClose: 5000 });
  }

  openJob(id: string, back = ''): void {
    void this.app.commands.execute(COMMANDS.openJob, { id, back });
  }

  openWorkflow(id: string, back = ''): void {
    void this.app.commands.execute(COMMANDS.openWorkflow, { id, back });
  }

  compareJobs(ids: readonly string[]): void {
    void this.app.commands.execute(COMMANDS.compareJobs, { ids: [...ids] });
  }

  openStorage(uri: string, profile: string): void {
    void this.app.commands.execute(COMMANDS.showExplorer, { uri, profile });
  }

  openProfiles({ profile = '', atLogin: login = false, isNew, backend = '' }: IProfilesTarget): void {
    void (isNew
      ? this.app.commands.execute(COMMANDS.addPlatform, { backend })
      : this.app.commands.execute(COMMANDS.profiles, { profile, login }));
  }

  openFile(path: string): void {
    void this.app.commands.execute('docmanager:open', { path });
  }

  folder(): string {
    return this.app.serviceManager.contents.localPath(this.files?.model.path ?? '');
  }

  document(): string {
    this.update();
    return this.documentPath;
  }

  watchRenamed(receive: (from: string, to: string) => void, signal: AbortSignal): void {
    const slot = (_: this, [from, to]: readonly [string, string]) => receive(from, to);
    this.renamed.connect(slot);
    signal.addEventListener('abort', () => this.renamed.disconnect(slot), { once: true });
  }

  watchUnsaved(receive: (paths: readonly string[]) => void, signal: AbortSignal): void {
    this.documents.watchUnsaved(receive, signal);
  }

  save(path: string): Promise<void> {
    return this.documents.save(path);
  }

  show(path: string): boolean {
    return this.documents.show(path);
  }

  insertCell(path: string, text: string): Promise<boolean> {
    return this.documents.insertCell(path, text);
  }

  watchFolder(receive: (path: string) => void, signal: AbortSignal): void {
    const slot = () => receive(this.folder());
    this.files?.model.pathChanged.connect(slot);
    signal.addEventListener('abort', () => this.files?.model.pathChanged.disconnect(slot), { once: true });
  }

  watchDocument(receive: (path: string) => void, signal: AbortSignal): void {
    const slot = (_: this, path: string) => receive(path);
    this.documentChanged.connect(slot);
    signal.addEventListener('abort', () => this.documentChanged.disconnect(slot), { once: true });
    receive(this.document());
  }

  /** Update the current document. It stays the same while a tab that cannot be trained is active. */
  private update(): void {
    const { shell, serviceManager } = this.app;
    const { currentWidget } = shell;
    if (currentWidget instanceof DocumentWidget) {
      const path = serviceManager.contents.localPath(currentWidget.context.path);
      if (path !== this.documentPath && canTrain({ path, type: 'file' })) {
        this.setDocument(path);
      }
    }
  }

  private handleRename(from: string, to: string): void {
    this.renamed.emit([from, to]);
    if (from === this.documentPath) {
      this.setDocument(to);
    }
  }

  private setDocument(path: string): void {
    this.documentPath = path;
    this.documentChanged.emit(path);
  }

  /**
   * Open a page in a tab, or reload its tab. The server's own scripts run in it; its frame cannot navigate the window.
   */
  private showPage(shell: ILabShell, title: string, address: string): void {
    const url = new URL(address, this.app.serviceManager.serverSettings.baseUrl).href;
    const id = `jp-pai-page-${encodeURIComponent(address)}`;
    const tab = [...shell.widgets('main')].find(widget => widget.id === id);
    if (tab instanceof MainAreaWidget && tab.content instanceof IFrame) {
      tab.content.url = url; // The server behind it may have been restarted.
    } else {
      const content = new IFrame({
        sandbox: ['allow-scripts', 'allow-same-origin', 'allow-forms', 'allow-popups', 'allow-downloads']
      });
      content.url = url;
      const widget = new MainAreaWidget({ content });
      widget.id = id;
      widget.title.label = title;
      widget.title.icon = jobsIcon;
      widget.title.closable = true;
      shell.add(widget, 'main');
    }
    shell.activateById(id);
  }

  private async runInTerminal(line: string): Promise<void> {
    const session = await this.app.serviceManager.terminals.startNew();
    session.send({ type: 'stdin', content: [`${line}\r`] });
    await this.app.commands.execute('terminal:open', { name: session.name });
  }

  private readonly renamed = new Signal<this, readonly [string, string]>(this);
  private readonly documentChanged = new Signal<this, string>(this);
  private readonly documents: Documents;
  private documentPath = '';
}
