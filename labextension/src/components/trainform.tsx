/**
 * The form that submits: what runs, with which values, what is sent, where to; and the button.
 */

import * as React from 'react';

import type { Desk } from '../desk.js';
import { hasRowFaults } from '../draft.js';
import { hasFaults } from '../previews.js';
import type { TrainModel } from '../trainmodel.js';
import type { IContext } from './context.js';
import { useKeptFocus } from './hooks.js';
import { showWrong } from './faults.js';
import { TrainCode } from './traincode.js';
import { TrainCommand } from './traincommand.js';
import { TrainData } from './traindata.js';
import { TrainFiles } from './trainfiles.js';
import { TrainHead } from './trainhead.js';
import { TrainHyper } from './trainhyper.js';
import { TrainMore } from './trainmore.js';
import type { IPart } from './trainpart.js';
import { TrainSubmit } from './trainsubmit.js';
import { TrainWhere } from './trainwhere.js';

interface IProps extends IContext {
  readonly model: TrainModel;
  /** Show the profiles instead, to add and change them. */
  readonly onProfiles?: () => void;
}

export function TrainForm(props: IProps): React.JSX.Element {
  const { model, host, trans } = props;
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    return () => void model.changed.disconnect(slot);
  }, [model]);
  const { desk } = model;
  const isRefused = desk?.draft === null && hasFaults(desk.wrong);
  const submit = () => {
    if (desk?.draft && (hasRowFaults(desk.draft) || hasHalfChannel(desk, box.current))) {
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
      <div className="jp-pai-Train-body">
        <TrainHead {...props} />
        {desk?.draft ? (
          <Parts {...props} desk={desk} draft={desk.draft} />
        ) : (
          !isRefused && <p>{trans.__('Loading…')}</p>
        )}
      </div>
      <TrainSubmit
        {...props}
        submit={submit}
        showWrong={() => showWrong(box.current)}
        // The button goes with what it was about.
        lookAgain={isRefused ? () => void model.refresh().then(() => desk.draft && box.current?.focus()) : undefined}
      />
    </section>
  );
}

function Parts(props: IPart): React.JSX.Element {
  const { trans, desk } = props;
  // A field that keeps what is typed is another notebook's, or another text's.
  return (
    <React.Fragment key={desk.id}>
      <section className="jp-pai-Train-part" aria-label={trans.__('What runs')}>
        <TrainCommand {...props} />
      </section>
      <TrainHyper {...props} />
      <TrainFiles {...props} />
      <TrainWhere {...props} />
      <section className="jp-pai-Train-part" aria-label={trans.__('More')}>
        <TrainData {...props} />
        <TrainMore {...props} />
        <TrainCode {...props} />
      </section>
    </React.Fragment>
  );
}

/** Whether a channel is written only half, which the form has not taken yet. */
function hasHalfChannel({ wrong }: Desk, node: Element | null): boolean {
  const isKnown = [...wrong.faults.keys()].some(name => /^(in|out)puts\b/.test(name));
  return !isKnown && node?.querySelector('.jp-pai-ChannelRows [aria-invalid="true"]') != null;
}
