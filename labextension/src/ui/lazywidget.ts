/**
 * A widget whose content is loaded when it is first shown.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

export class LazyWidget<T extends Widget> extends Widget {
  /**
   * @param make - creates the content.
   */
  constructor(
    private readonly make: () => Promise<T>,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-pai-Lazy');
    this.layout = new PanelLayout();
  }

  /** Return the content. It is created once; a failed attempt is repeated on the next call. */
  load(): Promise<T> {
    return (this.made ??= this.make().catch((error: unknown) => {
      this.made = null;
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
    if (!this.isVisible || this.isFilled) {
      return;
    }
    this.isFilled = true;
    this.load().then(
      contents => this.put(contents),
      () => {
        this.isFilled = false;
        this.put(this.trouble());
      }
    );
  }

  /** Replace the current content. */
  private put(widget: Widget): void {
    if (!this.isDisposed) {
      const layout = this.layout as PanelLayout;
      layout.widgets[0]?.dispose();
      layout.addWidget(widget);
    }
  }

  private trouble(): Widget {
    const words = new Widget();
    const text = document.createElement('p');
    text.className = 'jp-pai-Trouble';
    text.setAttribute('role', 'alert');
    text.textContent = this.trans.__('Failed to load.');
    const again = document.createElement('button');
    again.className = 'jp-pai-Button';
    again.textContent = this.trans.__('Refresh');
    again.onclick = () => this.fill();
    words.node.append(text, again);
    return words;
  }

  private made: Promise<T> | null = null;
  private isFilled = false;
}
