/**
 * A profile and its platform: free resources, jobs, storages and links. Each part is fetched on its own, when the
 * profile is expanded and while it is visible.
 */

import * as React from 'react';

import type { IProfileView } from '../profiles/profiles.js';
import { credentialsText, summaryOf } from '../profiles/profiles.js';
import type { ProfilesModel } from '../profiles/model.js';
import { parseRoots } from '../storage/entries.js';
import type { IQuota } from '../train/compute/instancetypes.js';
import { parseInstances } from '../train/compute/instancetypes.js';
import { QuotaList } from '../train/compute/quotas.js';
import type { IContext } from '../ui/context.js';
import { moment } from '../ui/format.js';
import { usePolling } from '../ui/polling.js';
import { useVisibility } from '../ui/visibility.js';
import { InstanceTypes } from './instancetypes.js';
import { PlatformJobs } from './jobs.js';
import { commonError, isCredentialsError } from './problems.js';
import { RemoteJobs } from './remotejobs.js';
import { PolledSection, Problem } from './section.js';
import { fetchStorages, listsStorages, StorageNames, StorageRoots } from './storages.js';

// Milliseconds between two polls of resources and jobs, and of the roots of storages, which rarely change.
const pollInterval = () => 30_000;
const rootsInterval = () => 300_000;

interface IProps extends IContext {
  readonly model: ProfilesModel;
  readonly profile: IProfileView;
}

export function PlatformProfile(props: IProps): React.JSX.Element {
  const { model, profile, trans } = props;
  const [isOpen, setOpen] = React.useState(false);
  const [wasOpened, setOpened] = React.useState(false);
  const id = React.useId();
  const platform = model.platformOf(profile);
  const identity = profile.hasOwnCredentials
    ? credentialsText(profile.credentials, model.credentialsFile, trans)
    : platform?.credentials
      ? trans.__('Uses the credentials found on this machine.')
      : '';
  const toggle = () => {
    setOpen(!isOpen);
    setOpened(true);
  };
  return (
    <li data-profile={profile.name} data-open={isOpen}>
      <h3>
        <button
          type="button"
          className="jp-pai-Platforms-toggle"
          aria-expanded={isOpen}
          aria-controls={wasOpened ? `${id}-body` : undefined}
          onClick={toggle}
        >
          <span aria-hidden>{isOpen ? '▾' : '▸'}</span>
          <span id={`${id}-name`} className="jp-pai-Platforms-name">
            {profile.name}
          </span>
          {profile.isDefault && <span className="jp-pai-Platforms-mark">{trans.__('default')}</span>}
        </button>
      </h3>
      <p>{[platform?.title ?? profile.backend, summaryOf(profile, platform)].filter(Boolean).join(' · ')}</p>
      {identity && <p className="jp-pai-Platforms-note">{identity}</p>}
      {profile.refused && <p className="jp-pai-Trouble">{profile.refused}</p>}
      {wasOpened && (
        // Hidden while collapsed: it keeps its values, and does no work.
        <div id={`${id}-body`} hidden={!isOpen}>
          {profile.refused ? (
            <Actions {...props} />
          ) : (
            <Body key={JSON.stringify(profile.settings)} {...props} profileId={`${id}-name`} />
          )}
        </div>
      )}
    </li>
  );
}

/** The parts of an expanded profile. */
function Body(props: IProps & { readonly profileId: string }): React.JSX.Element {
  const { model, engine, profile, profileId, trans } = props;
  const { name } = profile;
  const box = React.useRef<HTMLDivElement>(null);
  const isVisible = useVisibility(box);
  const platform = model.platformOf(profile);
  const runsHere = platform?.capabilities.includes('runs_here') ?? false;
  const hasNames = listsStorages(platform);
  const remote = React.useMemo(() => new RemoteJobs(engine, name), [engine, name]);
  const quotas = usePolling(
    async () =>
      parseInstances(await engine.call('instances', { profile: name, quotas_only: true, quota_users: true })).quotas,
    isVisible,
    pollInterval
  );
  const jobs = usePolling(() => remote.refresh(), isVisible && !runsHere, pollInterval);
  const roots = usePolling(
    async () => parseRoots(await engine.call('storages', { profile: name })),
    isVisible,
    rootsInterval
  );
  const names = usePolling(() => fetchStorages(engine, name), isVisible && hasNames, rootsInterval);
  const polled = [quotas, roots, ...(hasNames ? [names] : []), ...(runsHere ? [] : [jobs])];
  const common = commonError(polled.map(({ error }) => error));
  const retry = () => Promise.all(polled.filter(({ error }) => error).map(({ poll }) => poll()));
  const [status, setStatus] = React.useState('');
  const refresh = async () => {
    setStatus(trans.__('Loading…'));
    const results = await Promise.all(polled.map(({ poll }) => poll()));
    // Errors are shown in their parts.
    setStatus(results.every(Boolean) ? trans.__('Refreshed at %1.', moment(Date.now(), { timeStyle: 'medium' })) : '');
  };
  const shared = { isVisible, profileId, common, trans };
  return (
    <div ref={box} className="jp-pai-Platforms-body">
      <Actions {...props} onRefresh={() => void refresh()} />
      <p className="jp-pai-Platforms-note" role="status">
        {status}
      </p>
      {common && (
        <Problem error={common} labelledBy={profileId} retry={retry} trans={trans}>
          {isCredentialsError(common) && platform?.credentials && <LogIn {...props} />}
        </Problem>
      )}
      <PolledSection {...shared} title={trans.__('Resources')} polling={quotas}>
        {value => <Resources quotas={value} trans={trans} />}
      </PolledSection>
      {!runsHere && <InstanceTypes {...props} name={name} />}
      {!(hasNames && roots.value?.length === 0) && (
        <PolledSection {...shared} title={trans.__('Storages')} polling={roots}>
          {value => <StorageRoots {...props} roots={value} />}
        </PolledSection>
      )}
      {hasNames && (
        <PolledSection {...shared} title={trans.__('Storages on the platform')} polling={names}>
          {value => <StorageNames names={value} trans={trans} />}
        </PolledSection>
      )}
      {runsHere ? (
        <section aria-labelledby={`${profileId}-jobs ${profileId}`}>
          <h4 id={`${profileId}-jobs`}>{trans.__('Jobs on the platform')}</h4>
          <p className="jp-pai-Platforms-note">{trans.__('All of them are in the list of training jobs.')}</p>
        </section>
      ) : (
        <PlatformJobs {...props} {...shared} model={remote} polling={jobs} />
      )}
    </div>
  );
}

function Resources({ quotas, trans }: { quotas: readonly IQuota[] } & Pick<IContext, 'trans'>): React.JSX.Element {
  return quotas.length ? (
    <QuotaList quotas={quotas} trans={trans} />
  ) : (
    <p className="jp-pai-Platforms-note">{trans.__('The platform reports no quotas.')}</p>
  );
}

/** The way to the login of the profile. */
function LogIn({ profile, host, trans }: IProps): React.JSX.Element | null {
  const { name, isLocked } = profile;
  return host.openProfiles && !isLocked ? (
    <button
      type="button"
      className="jp-pai-Button jp-mod-accept"
      aria-label={trans.__('Log in to %1', name)}
      onClick={() => host.openProfiles?.({ profile: name, atLogin: true })}
    >
      {trans.__('Log in…')}
    </button>
  ) : null;
}

/** Buttons, and the links to the platform. */
function Actions({ profile, host, trans, onRefresh }: IProps & { readonly onRefresh?: () => void }): React.JSX.Element {
  const { name, isLocked, links } = profile;
  return (
    <div className="jp-pai-Platforms-actions">
      {onRefresh && (
        <button type="button" className="jp-pai-Button" aria-label={trans.__('Refresh %1', name)} onClick={onRefresh}>
          {trans.__('Refresh')}
        </button>
      )}
      {host.openProfiles && !isLocked && (
        <button
          type="button"
          className="jp-pai-Button"
          aria-label={trans.__('Edit profile %1', name)}
          onClick={() => host.openProfiles?.({ profile: name })}
        >
          {trans.__('Edit profile')}
        </button>
      )}
      {links.map(({ title, url }) => (
        <a key={url} href={url} target="_blank" rel="noopener noreferrer">
          {title} <span aria-hidden>↗</span>
        </a>
      ))}
    </div>
  );
}
