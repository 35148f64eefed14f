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
  readonly isOn: boolean;
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
  const [place, setPlace] = React.useState({ left: x, top: y });
  const before = React.useRef(document.activeElement);
  const leave = () => {
    close();
    if (before.current instanceof HTMLElement) {
      before.current.focus();
    }
  };
  React.useLayoutEffect(() => {
    const node = box.current;
    if (node) {
      const { width, height } = node.getBoundingClientRect();
      const left = Math.max(Math.min(x, innerWidth - width - MARGIN), MARGIN);
      setPlace({ left, top: Math.max(Math.min(y, innerHeight - height - MARGIN), MARGIN) });
      node.querySelector<HTMLElement>('button:enabled')?.focus();
    }
  }, [x, y]);
  const step = (by: number) => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>('button:enabled') ?? [])];
    const at = all.findIndex(item => item === document.activeElement);
    all[(at + by + all.length) % all.length]?.focus();
  };
  const press = (event: React.KeyboardEvent) => {
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Escape: leave,
      Tab: leave
    };
    const done = steps[event.key];
    event.stopPropagation();
    if (done) {
      event.preventDefault();
      done();
    }
  };
  return (
    <div
      ref={box}
      className="jp-pai-Menu"
      role="menu"
      aria-label={label}
      style={{ position: 'fixed', ...place }}
      onKeyDown={press}
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
          disabled={!item.isOn}
          onClick={() => {
            leave();
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
