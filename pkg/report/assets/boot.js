/* Draws the charts of the page from the options in its data-chart elements. The
   options are plain JSON; colours that start with -- are custom properties. */
(function () {
  'use strict';
  var root = document.documentElement;
  var dark = window.matchMedia('(prefers-color-scheme: dark)');
  var charts = [];

  function property(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  function family() {
    return getComputedStyle(document.body).fontFamily;
  }

  // Replaces --names by what they stand for, under keys that hold colours only.
  function paint(value, key) {
    if (Array.isArray(value)) {
      return value.map(function (v) { return paint(v, ''); });
    }
    if (value !== null && typeof value === 'object') {
      var painted = {};
      Object.keys(value).forEach(function (k) { painted[k] = paint(value[k], k); });
      return painted;
    }
    if ((key === 'color' || key === 'borderColor') && typeof value === 'string' && value.indexOf('--') === 0) {
      return property(value);
    }
    return value;
  }

  function theme() {
    var ink = property('--ink'), muted = property('--muted'), line = property('--line'), paper = property('--paper');
    var axis = {
      axisLine: { lineStyle: { color: property('--axis') } },
      axisTick: { show: false },
      axisLabel: { color: muted, fontSize: 11 },
      splitLine: { lineStyle: { color: line } },
      nameTextStyle: { color: muted }
    };
    return {
      backgroundColor: 'transparent',
      textStyle: { fontFamily: family(), color: ink },
      categoryAxis: Object.assign({}, axis, {
        splitLine: { show: false }, axisLabel: { color: ink, fontSize: 12 }
      }),
      valueAxis: axis,
      logAxis: Object.assign({}, axis, { minorSplitLine: { show: false } }),
      tooltip: {
        confine: true, backgroundColor: paper, borderColor: line, padding: [6, 9],
        textStyle: { color: ink, fontSize: 12 },
        axisPointer: { lineStyle: { color: muted, type: 'solid', width: 1 } }
      }
    };
  }

  // What stands over one row: the span with its ends, or in the colour of its arm with a
  // square for the middle, then the trials as dots and a text beyond all of them.
  function marks(params, api) {
    var payload = params.itemPayload;
    var mark = payload.marks[params.dataIndex];
    var category = api.value(1);
    var children = [];
    function at(x) { return api.coord([x, category]); }
    var origin = at(api.value(0));
    var right = origin[0];
    function line(from, to, height, stroke, width) {
      children.push({
        type: 'line', shape: { x1: from[0], y1: from[1] - height, x2: to[0], y2: to[1] + height },
        style: { stroke: stroke, lineWidth: width }
      });
    }
    if (mark.median !== undefined) { right = Math.max(right, at(mark.median)[0]); }
    if (mark.min !== undefined) {
      var low = at(mark.min), high = at(mark.max);
      right = Math.max(right, high[0]);
      if (mark.color) {
        line(low, high, 0, mark.color, 2.5);
      } else {
        line(low, high, 0, payload.ink.color, 1.25);
        line(low, low, 5, payload.ink.color, 1.25);
        line(high, high, 5, payload.ink.color, 1.25);
      }
    }
    if (mark.color && mark.median !== undefined) {
      var middle = at(mark.median);
      children.push({
        type: 'rect', shape: { x: middle[0] - 5, y: middle[1] - 5, width: 10, height: 10 },
        style: { fill: mark.color, stroke: payload.paper.color, lineWidth: 1 }
      });
    }
    (mark.points || []).forEach(function (x) {
      var p = at(x);
      right = Math.max(right, p[0]);
      children.push({
        type: 'circle', shape: { cx: p[0], cy: p[1], r: 2.5 },
        style: { fill: payload.paper.color, stroke: payload.ink.color, lineWidth: 1.1 }
      });
    });
    children.push({
      type: 'text', x: right + 8, y: origin[1],
      style: { text: mark.text, fill: payload.ink.color, fontSize: 11.5, fontFamily: family(), verticalAlign: 'middle' }
    });
    return { type: 'group', children: children };
  }

  // One tile of a heat map with what it says.
  function tile(params, api) {
    var payload = params.itemPayload;
    var one = payload.tiles[params.dataIndex];
    var middle = api.coord([api.value(0), api.value(1)]);
    var size = api.size([1, 1]);
    var children = [{
      type: 'rect', shape: { x: middle[0] - size[0] / 2 + 1, y: middle[1] - size[1] / 2 + 1, width: size[0] - 2, height: size[1] - 2 },
      style: { fill: one.fill.color, stroke: payload.line.color, lineWidth: one.hollow ? 1 : 0 }
    }];
    [[one.text, one.small ? -7 : 0, 13, 600], [one.small, 9, 11, 400]].forEach(function (t) {
      if (t[0]) {
        children.push({
          type: 'text', x: middle[0], y: middle[1] + t[1],
          style: { text: t[0], fill: one.ink.color, fontSize: t[2], fontWeight: t[3], fontFamily: family(), align: 'center', verticalAlign: 'middle' }
        });
      }
    });
    return { type: 'group', children: children };
  }

  // A chart is drawn when it comes near the screen, which one in closed details never does
  // until they are opened: a sweep has hundreds. Those on the first screen are drawn before the
  // page counts as loaded, when a picture may be taken of it; to be printed, all are.
  var look;
  var near = new IntersectionObserver(function (entries) {
    entries.forEach(function (e) { if (e.isIntersecting) { drawOne(e.target); } });
    root.dataset.drawn = '';
  }, { rootMargin: '300px 0px' });

  function drawOne(box) {
    near.unobserve(box);
    if (echarts.getInstanceByDom(box) || box.closest('details:not([open])')) { return; }
    var id = box.id.slice('chart-'.length);
    var source = document.querySelector('script[data-chart="' + id + '"]');
    var chart = echarts.init(box, look, { renderer: 'svg' });
    chart.setOption(Object.assign({ animation: false }, paint(JSON.parse(source.textContent), '')));
    charts.push(chart);
    document.querySelectorAll('button[data-toggle="' + id + '"]').forEach(function (button) {
      if (button.getAttribute('aria-pressed') === 'false') { toggle(chart, button); }
    });
  }

  function draw(all) {
    charts.forEach(function (c) { c.dispose(); });
    charts = [];
    look = theme();
    delete root.dataset.drawn;
    document.querySelectorAll('.chart').forEach(function (box) {
      if (all || onFirstScreen(box)) { drawOne(box); } else { near.unobserve(box); near.observe(box); }
    });
    root.dataset.drawn = '';
  }

  function onFirstScreen(box) {
    return box.offsetParent !== null && box.getBoundingClientRect().top < window.innerHeight;
  }

  function toggle(chart, button) {
    chart.dispatchAction({
      type: button.getAttribute('aria-pressed') === 'true' ? 'legendSelect' : 'legendUnSelect',
      name: button.getAttribute('data-series')
    });
  }

  document.querySelectorAll('button[data-toggle]').forEach(function (button) {
    button.addEventListener('click', function () {
      button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') === 'true' ? 'false' : 'true');
      var chart = echarts.getInstanceByDom(document.getElementById('chart-' + button.getAttribute('data-toggle')));
      if (chart) { toggle(chart, button); }
    });
  });

  function copied(button) {
    var text = button.textContent;
    button.textContent = 'Copied';
    setTimeout(function () { button.textContent = text; }, 1500);
  }

  // Where a page has no clipboard (a plain http: address), a selection has.
  function copyBySelection(text) {
    var area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'offscreen';
    document.body.appendChild(area);
    area.select();
    var done = document.execCommand('copy');
    document.body.removeChild(area);
    return done;
  }

  document.querySelectorAll('button[data-copy]').forEach(function (button) {
    button.addEventListener('click', function () {
      var text = JSON.parse(document.getElementById(button.getAttribute('data-copy')).textContent);
      if (navigator.clipboard) {
        navigator.clipboard.writeText(text).then(
          function () { copied(button); },
          function () { if (copyBySelection(text)) { copied(button); } });
      } else if (copyBySelection(text)) {
        copied(button);
      }
    });
  });

  echarts.registerCustomSeries('bgMarks', marks);
  echarts.registerCustomSeries('bgTile', tile);
  draw(false);
  dark.addEventListener('change', function () { draw(false); });
  // Paper is light whatever the screen is, and narrower: a view box lets page.css
  // shrink the drawings to it.
  window.addEventListener('beforeprint', function () {
    root.dataset.scheme = 'light';
    draw(true);
    document.querySelectorAll('.chart svg').forEach(function (svg) {
      svg.setAttribute('viewBox', '0 0 ' + svg.getAttribute('width') + ' ' + svg.getAttribute('height'));
    });
  });
  window.addEventListener('afterprint', function () { delete root.dataset.scheme; draw(false); });
  var pending = 0;
  window.addEventListener('resize', function () {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(function () {
      if (root.dataset.scheme) { return; } // printing
      charts.forEach(function (c) { c.resize(); });
    });
  });
}());
