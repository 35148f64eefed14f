/**
 * A plain page, as in VS Code or Colab, as the environment of a view. Browsers suppress `window.confirm` there, so
 * dialogs are built here.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IHost, IQuestion } from './host.js';

const NOTICE_TIME = 5000;

export class PageHost implements IHost {
  /**
   * @param node - the parent of dialogs and notifications.
   */
  constructor(
    private readonly node: HTMLElement,
    private readonly trans: TranslationBundle
  ) {
    this.notices.className = 'jp-pai-Notices';
    this.notices.setAttribute('role', 'status');
    node.append(this.notices);
  }

  async confirm({ title, text, yes, warn }: IQuestion): Promise<boolean> {
    const paragraph = document.createElement('p');
    paragraph.textContent = text;
    return this.showDialog(title, [paragraph], yes, warn);
  }

  async askText(title: string, label: string, value: string): Promise<string | null> {
    const field = document.createElement('label');
    field.textContent = label;
    const input = document.createElement('input');
    input.value = value;
    field.append(input);
    return (await this.showDialog(title, [field], this.trans.__('OK'))) ? input.value : null;
  }

  notify(text: string, kind: 'info' | 'success' | 'warning' | 'error'): void {
    const notice = document.createElement('p');
    notice.className = 'jp-pai-Notice';
    notice.dataset['kind'] = kind;
    notice.textContent = text;
    this.notices.append(notice);
    setTimeout(() => notice.remove(), NOTICE_TIME);
  }

  private showDialog(title: string, content: readonly Node[], yes: string, warn = false): Promise<boolean> {
    const dialog = document.createElement('dialog');
    dialog.className = 'jp-pai-Dialog';
    const heading = document.createElement('h2');
    heading.textContent = title;
    dialog.setAttribute('aria-label', title);
    const form = document.createElement('form');
    form.method = 'dialog';
    const accept = button(yes, 'yes');
    accept.classList.toggle('jp-pai-mod-warn', warn);
    // Enter activates the first button.
    form.append(heading, ...content, accept, button(this.trans.__('Cancel'), ''));
    dialog.append(form);
    this.node.append(dialog);
    return new Promise(resolve => {
      dialog.addEventListener('close', () => {
        dialog.remove();
        resolve(dialog.returnValue === 'yes');
      });
      dialog.showModal();
    });
  }

  private readonly notices = document.createElement('div');
}

function button(text: string, value: string): HTMLButtonElement {
  const element = document.createElement('button');
  element.type = 'submit';
  element.value = value;
  element.textContent = text;
  return element;
}
