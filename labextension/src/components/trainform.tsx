/**
 * The form that submits: what runs, with which values, what is sent, where to; and the button.
 */

import * as React from 'react';

import type { Desk } from '../desk.js';
import type { IDraft } from '../draft.js';
import { hasRowFaults } from '../draft.js';
import type { TrainModel } from '../trainmodel.js';
import type { IContext } from './context.js';
import { TrainHead } from './trainhead.js';
import { TrainSubmit } from './trainsubmit.js';

interface IProps extends IContext {
  readonly model: TrainModel;
}

export function TrainForm(props: IProps): React.JSX.Element {
  const { model, host, trans } = props;
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const box = React.useRef<HTMLElement>(null);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    return () => void model.changed.disconnect(slot);
  }, [model]);
  const { desk } = model;
  const submit = () => {
    if (desk?.draft && hasRowFaults(desk.draft)) {
      showWrong(box.current);
      return;
    }
    void model.submit().then(job => {
      if (!job) {
        requestAnimationFrame(() => showWrong(box.current));
      }
    });
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.defaultPrevented || event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === 'Escape' && desk && host.show?.(desk.path)) {
      event.preventDefault();
    }
  };
  return (
    <section ref={box} className="jp-pai-Train" tabIndex={-1} aria-label={trans.__('Train')} onKeyDown={press}>
      <TrainHead {...props} />
      <TrainSubmit {...props} submit={submit} showWrong={() => showWrong(box.current)} />
    </section>
  );
}

/** Go to the first field with which something is wrong. */
function showWrong(node: Element | null): void {
  node?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}

/** What each part of the form is given. */
export interface IPart extends IContext {
  readonly model: TrainModel;
  readonly desk: Desk;
  readonly draft: IDraft;
}
