/**
 * The graph of a run: a node for each step, with its status and condition.
 */

import * as React from 'react';

import type { IStep } from '../api/workflowrun.js';
import type { IContext } from '../ui/context.js';
import { statusName } from '../ui/statusbadge.js';
import { cut } from './columns.js';
import type { IBox } from './layout.js';
import { BOLD, columnsIn, layoutOf, LINE, lineCount, MARGIN } from './layout.js';
import { decidedText, decisionOf, stepFacts, stepText } from './model.js';

// The status is not shown by the color alone.
const SIGNS: Readonly<Record<IStep['status'], string>> = {
  waiting: '○',
  queued: '◔',
  starting: '◑',
  running: '▶',
  succeeded: '✓',
  failed: '✗',
  stopped: '■',
  lost: '?',
  skipped: '⊘'
};

interface IProps extends IContext {
  readonly steps: readonly IStep[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly label: string;
}

export function StepGraph(props: IProps): React.JSX.Element {
  const { steps, label } = props;
  const { width, height, nodes, edges } = useLayout(steps);
  const id = React.useId().replaceAll(':', '');
  return (
    <div className="jp-pai-Graph" tabIndex={0} role="group" aria-label={label}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
        <marker id={id} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
          <path className="jp-pai-Graph-arrow" d="M0 0L10 5L0 10z" />
        </marker>
        {edges.map(({ from, to, path }) => (
          <path
            key={`${from}-${to}`}
            className="jp-pai-Graph-edge"
            data-skipped={steps[to]?.status === 'skipped'}
            d={path}
            markerEnd={`url(#${id})`}
          />
        ))}
        {steps.map((step, n) => {
          const box = nodes[n];
          return box && <Node key={step.name} {...props} step={step} box={box} />;
        })}
      </svg>
    </div>
  );
}

/** Return the layout of the steps. It is kept while only the status of steps changes. */
function useLayout(steps: readonly IStep[]): ReturnType<typeof layoutOf> {
  const drawn = JSON.stringify(steps.map(({ name, dependencies, when }) => [name, dependencies, when]));
  return React.useMemo(() => layoutOf(steps), [drawn]);
}

interface INode extends IProps {
  readonly step: IStep;
  readonly box: IBox;
}

function Node({ step, box, now, host, trans }: INode): React.JSX.Element {
  const text = stepText(step, now, trans);
  const open = host.openJob && step.job ? () => host.openJob?.(step.job) : null;
  const left = -box.width / 2 + MARGIN;
  const top = (-LINE * (lineCount(step) - 1)) / 2;
  const columns = columnsIn(box.width);
  const facts = [statusName(step.status, trans), ...stepFacts(step, now, trans)].join(' · ');
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      open?.();
    }
  };
  return (
    <g
      className="jp-pai-Graph-node"
      data-step={step.name}
      data-status={step.status}
      transform={`translate(${box.x} ${box.y})`}
      {...(open ? { role: 'button', tabIndex: 0, onClick: open, onKeyDown } : { role: 'img' })}
    >
      <title>{text}</title>
      <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} rx={4} />
      <text x={left} y={top} className="jp-pai-Graph-name">
        {cut(step.name, Math.floor(columns / BOLD))}
      </text>
      <text x={left} y={top + LINE}>
        <tspan className="jp-pai-Graph-sign">{SIGNS[step.status]}</tspan>
        <tspan dx={5}>{cut(facts, columns - 3)}</tspan>
      </text>
      {step.when && (
        <>
          <text x={left} y={top + 2 * LINE} className="jp-pai-Graph-condition">
            {cut(step.when, columns)}
          </text>
          <text x={left} y={top + 3 * LINE} className="jp-pai-Graph-condition" data-decision={decisionOf(step)}>
            {cut(conditionText(step, trans), columns)}
          </text>
        </>
      )}
    </g>
  );
}

/** Return the result of a condition, and the condition with the values that decided it. */
function conditionText(step: IStep, trans: IContext['trans']): string {
  const texts = { undecided: trans.__('not decided'), true: trans.__('true'), false: trans.__('false') };
  const decision = decisionOf(step);
  return decision === 'undecided' ? texts.undecided : `${texts[decision]}: ${decidedText(step)}`;
}
