// Opens the editor on the service descriptor that the address names. Only this service is ever asked.
(function () {
  'use strict';
  const wanted = new URLSearchParams(location.search).get('url');
  const problem = (text) => {
    const place = document.getElementById('problem');
    place.textContent = text;
    place.hidden = false;
  };
  if (wanted === null || wanted === '') {
    problem(
      'Add ?url= with the path of a service descriptor, such as /doc?url=/kos/<naan>/<name>/<version>/service.yaml',
    );
    return;
  }
  // Behind a proxy the service may live below a path.
  const base = location.pathname.replace(/\/doc\/?$/, '');
  const url = URL.parse(wanted.startsWith('/') ? base + wanted : wanted, location.href);
  if (url === null || url.origin !== location.origin) {
    problem('The service descriptor must be one of this service: ' + wanted);
    return;
  }
  let apiVersion;
  const ui = window.SwaggerUIBundle({
    url: url.href,
    dom_id: '#editor',
    deepLinking: false,
    validatorUrl: null,
    tryItOutEnabled: true,
    defaultModelsExpandDepth: -1,
    onComplete() {
      const info = ui.specSelectors.info();
      apiVersion = info && info.get('version');
      const title = info && info.get('title');
      if (title) document.title = title;
    },
    // Descriptors may name other hosts as their server, and leave out the version: what is tried is this very version.
    requestInterceptor(request) {
      const target = URL.parse(request.url, location.href);
      if (request.loadSpec || target === null) return request;
      const here = new URL(base + target.pathname.replace(base, '') + target.search, location.origin);
      if (apiVersion && !here.pathname.split('/').includes(String(apiVersion)))
        here.searchParams.set('v', String(apiVersion));
      request.url = here.href;
      return request;
    },
  });
  window.ui = ui;
})();
