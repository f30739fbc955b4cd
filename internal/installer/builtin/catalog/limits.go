package catalog

// Limits restricts how much untrusted content is read. Larger content is rejected with a message that includes the
// limit.
type Limits struct {
	// Image is the maximum size of an image in bytes, both compressed and unpacked.
	Image int64

	// Catalog is the maximum size of the file-based catalog in an image, in bytes.
	Catalog int64

	// CatalogFile is the maximum size of one file of it, in bytes.
	CatalogFile int64

	// CatalogFiles is the maximum number of its files.
	CatalogFiles int

	// Kept is the maximum size in bytes of the part of a catalog that is kept in memory: everything except the objects.
	Kept int64

	// Bundle is the maximum size in bytes of all files of an unpacked bundle image, and of all objects of a bundle.
	Bundle int64

	// BundleFiles is the maximum number of files in a bundle image.
	BundleFiles int
}

// DefaultLimits exceed the needs of public catalogs, and are low enough for the manager.
var DefaultLimits = Limits{
	Image:        2 << 30,
	Catalog:      512 << 20,
	CatalogFile:  64 << 20,
	CatalogFiles: 20000,
	Kept:         32 << 20,
	Bundle:       10 << 20,
	BundleFiles:  1000,
}

// Untrusted returns the limits for a catalog that is not trusted with the cluster: everything that such catalogs have read
// at one time must fit on the disk of the manager.
func (l Limits) Untrusted() Limits {
	l.Image = min(l.Image, 512<<20)
	l.Catalog = min(l.Catalog, 64<<20)
	return l
}
