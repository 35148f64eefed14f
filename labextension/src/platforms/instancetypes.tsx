/**
 * The instance types of a platform, fetched when the section is opened.
 */

import * as React from 'react';

import { SearchField } from '../jobs/filters.js';
import type { IInstances, IInstanceType } from '../train/compute/instancetypes.js';
import { filterTypes, gpuText, memoryText, parseInstances, priceText } from '../train/compute/instancetypes.js';
import type { IContext } from '../ui/context.js';
import { coreCount } from '../ui/format.js';
import { usePolling } from '../ui/polling.js';
import { Section } from '../ui/section.js';
import { useVisibility } from '../ui/visibility.js';
import { Problem } from './section.js';

interface IProps extends IContext {
  readonly name: string;
  /** The id of the element with the profile's name. */
  readonly profileId: string;
}

// Milliseconds between two polls. The types rarely change.
const pollInterval = () => 300_000;
// Types shown at once, and the number of types from which they can be filtered.
const PAGE = 50;
const MANY = 10;

export function InstanceTypes(props: IProps): React.JSX.Element {
  const { trans } = props;
  return (
    <Section title={trans.__('Instance types')}>
      <Loader {...props} />
    </Section>
  );
}

function Loader(props: IProps): React.JSX.Element {
  const { engine, name, profileId, trans } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const isVisible = useVisibility(box);
  const { value, error, poll } = usePolling(
    async () => parseInstances(await engine.call('instances', { profile: name })),
    isVisible,
    pollInterval
  );
  return (
    <div ref={box}>
      {error && <Problem error={error} labelledBy={profileId} retry={poll} trans={trans} />}
      {value ? (
        <Types {...props} {...value} />
      ) : (
        !error && (
          <p className="jp-pai-Platforms-note" role="status">
            {trans.__('Loading…')}
          </p>
        )
      )}
    </div>
  );
}

function Types({ types, hiddenCount, trans }: IProps & IInstances): React.JSX.Element {
  const [text, setText] = React.useState('');
  const found = filterTypes(types, text);
  const note = !types.length
    ? trans.__('The platform lists no instance types.')
    : found.length > PAGE
      ? trans.__('Showing %1 of %2', PAGE, found.length)
      : found.length
        ? ''
        : trans.__('No matching instance types.');
  return (
    <>
      {types.length > MANY && (
        <div className="jp-pai-Platforms-filter" role="search" aria-label={trans.__('Filter instance types')}>
          <SearchField label={trans.__('Filter by name or GPU')} value={text} onChange={setText} />
        </div>
      )}
      <ul className="jp-pai-Platforms-types">
        {found.slice(0, PAGE).map(type => (
          <li key={type.name} data-type={type.name}>
            <span className="jp-pai-Platforms-name">{type.name}</span>
            <p className="jp-pai-Platforms-note">{factsOf(type, trans).join(' · ')}</p>
          </li>
        ))}
      </ul>
      <p className="jp-pai-Platforms-note" role="status">
        {note}
      </p>
      {hiddenCount > 0 && (
        <p className="jp-pai-Platforms-note">{trans.__('Hidden by the administrator: %1', hiddenCount)}</p>
      )}
    </>
  );
}

/** Return sizes, price and availability, as far as they are known. */
function factsOf(type: IInstanceType, trans: IContext['trans']): readonly string[] {
  const { cpu, memory, price, isAvailable } = type;
  return [
    cpu ? coreCount(cpu, trans) : '',
    memory ? memoryText(memory) : '',
    gpuText(type),
    price ? trans.__('%1 per hour', priceText(price)) : '',
    isAvailable === null ? '' : isAvailable ? trans.__('free') : trans.__('none free')
  ].filter(Boolean);
}
