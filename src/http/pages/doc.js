// Opens the editor on the service descriptor that the address names. Only this service is ever asked.
(function () {
  'use strict';
  // Behind a proxy the service may live below a path.
  const base = location.pathname.replace(/\/doc\/?$/, '');

  const problem = (text) => {
    const place = document.getElementById('problem');
    place.textContent = text;
    place.hidden = false;
  };
  const note = (text) => {
    const item = document.createElement('li');
    item.textContent = text;
    document.getElementById('notes').append(item);
  };

  /** URL of the descriptor; undefined when a problem was shown instead. */
  const wantedDescriptor = async () => {
    const wanted = new URLSearchParams(location.search).get('url');
    if (wanted === null || wanted === '') {
      const example = '/doc?url=/kos/<naan>/<name>/<version>/service.yaml';
      return problem('Add ?url= with the path of a service descriptor, such as ' + example);
    }
    const url = URL.parse(wanted.startsWith('/') ? base + wanted : wanted, location.href);
    if (url === null || url.origin !== location.origin)
      return problem('The service descriptor must be one of this service: ' + wanted);
    // HEAD acts nowhere, whatever path was given.
    const { ok, status } = await fetch(url, { method: 'HEAD' });
    return ok ? url : problem('No service descriptor can be read at ' + wanted + ': the service answers ' + status);
  };

  /** Endpoints that this descriptor declares, as they are now. */
  const endpointsOf = async (url) => {
    const response = await fetch(base + '/endpoints', { headers: { accept: 'application/json' } });
    const endpoints = response.ok ? await response.json() : [];
    return endpoints
      .filter((each) => new URL(base + each.hasServiceSpecification, url).pathname === url.pathname)
      .map((each) => {
        const [naan, name, version, ...path] = each['@id'].split('/');
        return { ...each, path: '/' + path.join('/'), server: [base, naan, name, version].join('/') };
      });
  };

  /** The knowledge object version that a descriptor belongs to. */
  const idOf = (url) => url.pathname.slice(base.length).match(/^\/kos\/([^/]+\/[^/]+\/[^/]+)\//)?.[1];

  /** Why nothing of it is active: the service says so to whoever calls, also where only some may read its health. */
  const noteIdle = async (id) => {
    const response = await fetch(base + '/' + id, { headers: { accept: 'application/json' } });
    const { Detail = '' } = await response.json().catch(() => ({}));
    const why = Detail.slice(Math.max(Detail.indexOf(id + ' '), 0));
    const reload = '/actuator/activation/reload/' + id;
    const next = Detail.includes(reload) ? '' : '. When that is mended, GET ' + reload + ' activates it';
    note('This knowledge object is not activated, so calls are answered with 404: ' + why + next);
  };

  const noteStates = async (url, endpoints) => {
    const id = idOf(url);
    if (endpoints.length === 0 && id !== undefined) await noteIdle(id);
    for (const each of endpoints)
      if (each.status !== 'ACTIVATED') note(each.path + ' is not active' + (each.detail ? ': ' + each.detail : ''));
  };

  /** Whatever the descriptor says about servers, what is tried is the very version that was opened. */
  const withOwnServers = (descriptor, url, endpoints) => {
    const [naan, name] = idOf(url)?.split('/') ?? [];
    const ko = naan === undefined ? '' : '/' + [naan, name, descriptor.info?.version].join('/');
    const server = endpoints[0]?.server ?? (base + ko || '/');
    const paths = Object.entries(descriptor.paths ?? {}).map(([path, { servers: _, ...item }]) => {
      for (const [method, operation] of Object.entries(item)) {
        if (operation?.servers === undefined) continue;
        const { servers: _, ...rest } = operation;
        item[method] = rest;
      }
      const own = endpoints.find((each) => each.path === path)?.server ?? server;
      return [path, own === server ? item : { ...item, servers: [{ url: own }] }];
    });
    return { ...descriptor, servers: [{ url: server }], paths: Object.fromEntries(paths) };
  };

  /** A descriptor may refer to other files of its package; anything else is left alone, and said. */
  const withoutOthers = (descriptor, isOwn) => {
    const others = new Set();
    const walk = (value) => {
      if (Array.isArray(value)) return value.map(walk);
      if (value === null || typeof value !== 'object') return value;
      if (typeof value.$ref === 'string' && !isOwn(value.$ref)) {
        others.add(value.$ref);
        return { description: 'Described at ' + value.$ref };
      }
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each)]));
    };
    const walked = walk(descriptor);
    if (others.size > 0) note('Described elsewhere, and not shown here: ' + [...others].join(', '));
    return walked;
  };

  /** The text of a request has a name, and the panel around it is no stop of the keyboard beside it. */
  const requestBody =
    (TextArea, { React }) =>
    (props) => {
      const panelIsNoStop = (area) => area?.closest('[role=tabpanel]')?.removeAttribute('tabindex');
      return React.createElement('textarea', { 'aria-label': 'Request body', ref: panelIsNoStop, ...props });
    };

  /** A button that is disabled while its call runs would lose the focus. */
  const focusable = (Execute, { React }) =>
    class extends Execute {
      render() {
        const { disabled } = this.props;
        const onClick = disabled ? undefined : this.onClick;
        return React.cloneElement(super.render(), { disabled: false, 'aria-disabled': disabled, onClick });
      }
    };

  /** Clear goes when it is pressed, and leaves the focus to Execute beside it. */
  const handingOver = (Clear, { React }) =>
    class extends Clear {
      render() {
        const onClick = (event) => {
          event.currentTarget.previousElementSibling.focus();
          this.onClick();
        };
        return React.cloneElement(super.render(), { onClick });
      }
    };

  const operationsOf = (descriptor) =>
    Object.values(descriptor.paths ?? {})
      .flatMap((item) => Object.values(item ?? {}))
      .filter((each) => each?.responses);

  const open = async () => {
    const url = await wantedDescriptor();
    if (url === undefined) return;
    const endpoints = await endpointsOf(url);
    await noteStates(url, endpoints);
    const [folder] = url.pathname.match(/^.*\/kos\/[^/]+\/[^/]+\/[^/]+\//) ?? [url.pathname];
    const isOwn = (reference) => {
      const target = URL.parse(reference, url);
      return target?.origin === location.origin && target.pathname.startsWith(folder);
    };
    const onDescriptor = (update, system) => (descriptor) => {
      if (descriptor === null || typeof descriptor !== 'object') return update(descriptor);
      // The only operation is what was wanted. The editor reads its settings whenever it draws.
      if (operationsOf(descriptor).length === 1) system.getConfigs().docExpansion = 'full';
      if (descriptor.info?.title) document.title = descriptor.info.title + ' · KGrid Activator';
      return update(withOwnServers(withoutOthers(descriptor, isOwn), url, endpoints));
    };
    window.SwaggerUIBundle({
      url: url.href,
      dom_id: '#editor',
      deepLinking: false,
      validatorUrl: null,
      tryItOutEnabled: true,
      defaultModelsExpandDepth: -1,
      syntaxHighlight: { theme: 'obsidian' },
      plugins: [
        () => ({
          statePlugins: { spec: { wrapActions: { updateJsonSpec: onDescriptor } } },
          wrapComponents: {
            TextArea: requestBody,
            execute: focusable,
            clear: handingOver,
            CopyToClipboardBtn: () => () => null,
          },
        }),
      ],
      requestInterceptor(request) {
        if (request.loadSpec && !isOwn(request.url)) throw new Error('Not of this knowledge object: ' + request.url);
        return request;
      },
    });
  };
  open().catch((error) => problem('The service descriptor cannot be opened: ' + error.message));
})();
