/**
 * A popup menu for mouse and keyboard.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

export interface IMenuItem {
  readonly id: string;
  readonly label: string;
  readonly key?: string;
  readonly isEnabled: boolean;
  readonly run: () => unknown;
}

interface IProps {
  readonly label: string;
  readonly items: readonly IMenuItem[];
  /** Viewport coordinates, in pixels. */
  readonly x: number;
  readonly y: number;
  /** Close the menu; the focus returns to the previous element. */
  readonly close: () => void;
}

// Minimum distance to the edges of the viewport, in pixels.
const MARGIN = 4;

/** Show a menu at viewport coordinates, in pixels. It is attached to the body, so that no panel clips it. */
export function popUp(label: string, items: readonly IMenuItem[], x: number, y: number): void {
  let isOpen = true;
  const close = () => {
    if (isOpen) {
      isOpen = false;
      // React must finish rendering first.
      queueMicrotask(() => widget.dispose());
    }
  };
  const widget = ReactWidget.create(<PopupMenu {...{ label, items, x, y, close }} />);
  Widget.attach(widget, document.body);
}

function PopupMenu({ label, items, x, y, close }: IProps): React.JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  const [position, setPosition] = React.useState({ left: x, top: y });
  const previousFocus = React.useRef(document.activeElement);
  const closeAndRestoreFocus = () => {
    close();
    if (previousFocus.current instanceof HTMLElement) {
      previousFocus.current.focus();
    }
  };
  React.useLayoutEffect(() => {
    const node = box.current;
    if (node) {
      const { width, height } = node.getBoundingClientRect();
      const left = Math.max(Math.min(x, innerWidth - width - MARGIN), MARGIN);
      setPosition({ left, top: Math.max(Math.min(y, innerHeight - height - MARGIN), MARGIN) });
      node.querySelector<HTMLElement>('button:enabled')?.focus();
    }
  }, [x, y]);
  const moveFocus = (by: number) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>('button:enabled') ?? [])];
    const index = items.findIndex(item => item === document.activeElement);
    items[(index + by + items.length) % items.length]?.focus();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => moveFocus(1),
      ArrowUp: () => moveFocus(-1),
      Escape: closeAndRestoreFocus,
      Tab: closeAndRestoreFocus
    };
    const action = actions[event.key];
    event.stopPropagation();
    if (action) {
      event.preventDefault();
      action();
    }
  };
  return (
    <div
      ref={box}
      className="jp-pai-Menu"
      role="menu"
      aria-label={label}
      style={{ position: 'fixed', ...position }}
      onKeyDown={onKeyDown}
      onBlur={event => {
        if (!event.currentTarget.contains(event.relatedTarget)) {
          close();
        }
      }}
    >
      {items.map(item => (
        <button
          key={item.id}
          type="button"
          role="menuitem"
          data-action={item.id}
          disabled={!item.isEnabled}
          onClick={() => {
            closeAndRestoreFocus();
            item.run();
          }}
        >
          <span>{item.label}</span>
          {item.key && <span className="jp-pai-Menu-key">{item.key}</span>}
        </button>
      ))}
    </div>
  );
}
