/**
 * The steps of a run as a table, for large workflows and for screen readers.
 */

import * as React from 'react';

import type { IStep } from '../api/workflowrun.js';
import type { IContext } from '../ui/context.js';
import { JobLink } from '../ui/joblink.js';
import { StatusBadge } from '../ui/statusbadge.js';
import { decisionOf, stepFacts, valuesText } from './model.js';

// Rows that are rendered at first, and by each press of the button.
const PAGE = 300;

interface IProps extends IContext {
  readonly steps: readonly IStep[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly label: string;
}

export function StepTable(props: IProps): React.JSX.Element {
  const { steps, label, trans } = props;
  const [limit, setLimit] = React.useState(PAGE);
  const hasConditions = steps.some(({ when }) => when);
  return (
    <>
      <div className="jp-pai-Table jp-pai-Steps" tabIndex={0} role="group" aria-label={label}>
        <table aria-label={label} aria-rowcount={steps.length + 1}>
          <thead>
            <tr>
              <th scope="col">{trans.__('Step')}</th>
              <th scope="col">{trans.__('Status')}</th>
              {hasConditions && <th scope="col">{trans.__('Condition')}</th>}
              <th scope="col">{trans.__('Needs')}</th>
              <th scope="col">{trans.__('Job')}</th>
              <th scope="col">{trans.__('Reason')}</th>
            </tr>
          </thead>
          <tbody>
            {steps.slice(0, limit).map(step => (
              <Row key={step.name} {...props} step={step} hasConditions={hasConditions} />
            ))}
          </tbody>
        </table>
      </div>
      {steps.length > limit && (
        <button type="button" className="jp-pai-Button" onClick={() => setLimit(limit + PAGE)}>
          {trans.__('Show more (%1)', steps.length - limit)}
        </button>
      )}
    </>
  );
}

function Row({
  step,
  hasConditions,
  now,
  host,
  trans
}: IProps & { step: IStep; hasConditions: boolean }): React.JSX.Element {
  const facts = stepFacts(step, now, trans).join(' · ');
  return (
    <tr data-step={step.name} data-status={step.status}>
      <th scope="row">{step.name}</th>
      <td>
        <StatusBadge status={step.status} trans={trans} />
        {facts && <div className="jp-pai-Job-facts">{facts}</div>}
      </td>
      {hasConditions && (
        <td>
          {step.when && (
            <>
              <code>{step.when}</code>
              <Decision step={step} trans={trans} />
            </>
          )}
        </td>
      )}
      <td>{step.dependencies.join(', ')}</td>
      <td className="jp-pai-Steps-job">{step.job && <JobLink host={host} jobId={step.job} />}</td>
      <td>{[step.reason, step.fix].filter(Boolean).join(' ')}</td>
    </tr>
  );
}

function Decision({ step, trans }: { step: IStep; trans: IContext['trans'] }): React.JSX.Element | null {
  const decision = decisionOf(step);
  return decision === 'undecided' ? null : (
    <div className="jp-pai-Job-facts" data-decision={decision}>
      {decision === 'true' ? trans.__('true') : trans.__('false')}: {valuesText(step)}
    </div>
  );
}
