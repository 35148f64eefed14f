/**
 * A widget whose contents are loaded when it is first shown.
 */

import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';

export class LazyWidget extends Widget {
  /**
   * @param load - makes the contents.
   */
  constructor(private readonly load: () => Promise<Widget>) {
    super();
    this.addClass('jp-pai-Lazy');
    this.layout = new PanelLayout();
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
    void this.load().then(contents => {
      if (!this.isDisposed) {
        (this.layout as PanelLayout).addWidget(contents);
      }
    });
  }

  private isFilled = false;
}
