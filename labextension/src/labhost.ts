/**
 * JupyterLab and Notebook 7 as the surroundings of a view.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, InputDialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

import { COMMANDS } from './commandids.js';
import type { IHost, IQuestion } from './host.js';

export class LabHost implements IHost {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly trans: TranslationBundle
  ) {}

  async confirm({ title, text, yes, warn }: IQuestion): Promise<boolean> {
    const accept = warn ? Dialog.warnButton({ label: yes }) : Dialog.okButton({ label: yes });
    const buttons = [Dialog.cancelButton({ label: this.trans.__('Cancel') }), accept];
    return (await showDialog({ title, body: text, buttons })).button.accept;
  }

  async ask(title: string, label: string, text: string): Promise<string | null> {
    return (await InputDialog.getText({ title, label, text })).value;
  }

  notify(text: string, kind: 'info' | 'success' | 'warning' | 'error'): void {
    Notification.emit(text, kind, { autoClose: 5000 });
  }

  openJob(id: string): void {
    void this.app.commands.execute(COMMANDS.openJob, { id });
  }

  compareJobs(ids: readonly string[]): void {
    void this.app.commands.execute(COMMANDS.compareJobs, { ids: [...ids] });
  }

  openFile(path: string): void {
    void this.app.commands.execute('docmanager:open', { path });
  }
}
