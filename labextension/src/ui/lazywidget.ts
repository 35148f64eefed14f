/**
 * A widget whose content is loaded when it is first shown.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

export class LazyWidget<T extends Widget> extends Widget {
  /**
   * @param create - creates the content.
   */
  constructor(
    private readonly create: () => Promise<T>,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-pai-Lazy');
    this.layout = new PanelLayout();
  }

  /** Return the content. It is created once; a failed attempt is repeated on the next call. */
  load(): Promise<T> {
    return (this.content ??= this.create().catch((error: unknown) => {
      this.content = null;
      throw error;
    }));
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.fill();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.fill();
  }

  private fill(): void {
    if (!this.isVisible || this.isLoaded) {
      return;
    }
    this.isLoaded = true;
    this.load().then(
      contents => this.replaceContent(contents),
      () => {
        this.isLoaded = false;
        this.replaceContent(this.errorWidget());
      }
    );
  }

  /** Replace the current content. */
  private replaceContent(widget: Widget): void {
    if (!this.isDisposed) {
      const layout = this.layout as PanelLayout;
      layout.widgets[0]?.dispose();
      layout.addWidget(widget);
    }
  }

  private errorWidget(): Widget {
    const widget = new Widget();
    const text = document.createElement('p');
    text.className = 'jp-pai-Trouble';
    text.setAttribute('role', 'alert');
    text.textContent = this.trans.__('Failed to load.');
    const button = document.createElement('button');
    button.className = 'jp-pai-Button';
    button.textContent = this.trans.__('Refresh');
    button.onclick = () => this.fill();
    widget.node.append(text, button);
    return widget;
  }

  private content: Promise<T> | null = null;
  private isLoaded = false;
}
